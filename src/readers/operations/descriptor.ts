import { OperationsStreamReader } from './operations-stream-reader.js';

/** Tables of operations, as StragglerAnalysis and in-house recorders of large jobs write them. */
export const operationsReader = {
  id: 'operations' as const,
  title: 'a table of operations (Parquet with step, optype, start_ts and duration)',
  sniff: looksLikeParquet,
  create: () => new OperationsStreamReader(),
};

const MAGIC = Buffer.from('PAR1');

/** Which columns it has stands at its end: the reader finds out. */
export function looksLikeParquet(head: Uint8Array): boolean {
  return head.length >= MAGIC.length && MAGIC.equals(head.subarray(0, MAGIC.length));
}
