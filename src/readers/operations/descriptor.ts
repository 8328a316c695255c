import type { ReaderDescriptor } from '../common/reader.js';
import { OperationsStreamReader } from './operations-stream-reader.js';

/** Tables of operations, as StragglerAnalysis and in-house recorders of large jobs write them. */
export const operationsReader: ReaderDescriptor = {
  id: 'operations',
  title: 'a table of operations (Parquet with step, optype, start_ts and duration)',
  sniff: looksLikeParquet,
  create: () => new OperationsStreamReader(),
};

const MAGIC = Buffer.from('PAR1');

/** The column names are at the end of the file: the reader checks them. */
function looksLikeParquet(head: Uint8Array): boolean {
  return head.length >= MAGIC.length && MAGIC.equals(head.subarray(0, MAGIC.length));
}
