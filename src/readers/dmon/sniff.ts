import { dmonNames, knownColumns } from './dmon-layout.js';
import { queryNames } from './query-layout.js';

/** What may stand before the header: a warning of the driver, the tail of an earlier log. */
const MAX_LINES_BEFORE = 10;
/** `gpu` and two figures: a table of something else may have a column of that name. */
const LEAST_COLUMNS = 3;

/** True when a line near the top is a header of `nvidia-smi dmon`, or of a query as CSV. */
export function looksLikeTelemetry(head: Uint8Array): boolean {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1');
  const lines = text.split(/[\r\n\0]+/, MAX_LINES_BEFORE + 1).filter((line) => line.trim() !== '');
  return lines.some((raw) => {
    const line = raw.replace(/^\u00ef\u00bb\u00bf/, '').trim();
    if (line.startsWith('{') || line.startsWith('[')) return false;
    const names = dmonNames(line);
    return names ? knownColumns(names) >= LEAST_COLUMNS : queryNames(line) !== null;
  });
}
