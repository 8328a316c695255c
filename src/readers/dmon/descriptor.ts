import { seriesOf, summarizeTelemetry } from '../../telemetry/gpu-state.js';
import type { Content } from '../common/content.js';
import type { InspectLine, ReaderDescriptor } from '../common/reader.js';
import { dmonNames, knownColumns } from '../common/telemetry/dmon-layout.js';
import { queryNames } from '../common/telemetry/query-layout.js';
import { type TelemetryRead, TelemetryStreamReader } from '../common/telemetry/telemetry-stream-reader.js';
import { headText } from '../common/text.js';

export const TELEMETRY_LINE: InspectLine = {
  one: 'telemetry log',
  many: 'telemetry logs',
  counts: 'samples',
};

export function digestTelemetry({ telemetry }: TelemetryRead, keepColumns: boolean): Content {
  const gpus = summarizeTelemetry(telemetry);
  const series = seriesOf(telemetry);
  const evidence = { gpus, series, ...(keepColumns ? { telemetry } : {}) };
  return { of: 'run', events: telemetry.rows, evidence };
}

/** What nvidia-smi prints over time: `dmon`, or a query as CSV. */
export const dmonReader: ReaderDescriptor<TelemetryRead> = {
  id: 'dmon',
  title: 'GPU telemetry (`nvidia-smi dmon`, or `--query-gpu=… --format=csv`)',
  line: TELEMETRY_LINE,
  sniff,
  create: () => new TelemetryStreamReader(),
  digest: digestTelemetry,
};

/** Lines that may come before the header: a warning of the driver, the tail of an earlier log. */
const MAX_LINES_BEFORE = 10;
/** `gpu` and two more: a table of something else may also have a column `gpu`. */
const LEAST_COLUMNS = 3;

/** True when a line near the top is a header of `nvidia-smi dmon`, or of a query as CSV. */
function sniff(head: Uint8Array): boolean {
  const lines = headText(head).split(/[\r\n\0]+/, MAX_LINES_BEFORE + 1);
  return lines.some((untrimmed) => {
    const line = untrimmed.trim();
    if (line.startsWith('{') || line.startsWith('[')) return false;
    const names = dmonNames(line);
    return names ? knownColumns(names) >= LEAST_COLUMNS : queryNames(line) !== null;
  });
}
