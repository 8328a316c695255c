import { seriesOf, summarizeTelemetry } from '../../telemetry/gpu-state.js';
import type { Content } from '../common/content.js';
import type { ReaderDescriptor } from '../common/reader.js';
import { dmonNames, knownColumns } from '../common/telemetry/dmon-layout.js';
import { queryNames } from '../common/telemetry/query-layout.js';
import { looksLikeCards } from '../common/telemetry/rocm-layout.js';
import { type TelemetryRead, TelemetryStreamReader } from '../common/telemetry/telemetry-stream-reader.js';
import { headText } from '../common/text.js';

function digest({ telemetry }: TelemetryRead, keepColumns: boolean): Content {
  const gpus = summarizeTelemetry(telemetry);
  const series = seriesOf(telemetry);
  const evidence = { gpus, series, ...(keepColumns ? { telemetry } : {}) };
  return { of: 'run', events: telemetry.rows, evidence };
}

/** What nvidia-smi prints over time (`dmon`, or a query as CSV), or rocm-smi: a loop that appends its objects makes a log. */
export const dmonReader: ReaderDescriptor<TelemetryRead> = {
  id: 'dmon',
  title: 'GPU telemetry (`nvidia-smi dmon`, `--query-gpu=… --format=csv`, or `rocm-smi --json`)',
  line: { one: 'telemetry log', many: 'telemetry logs', counts: 'samples' },
  sniff,
  create: () => new TelemetryStreamReader(),
  digest,
};

/** Lines that may come before the header: a warning of the driver, the tail of an earlier log. */
const MAX_LINES_BEFORE = 20;
/** `gpu` and two more: a table of something else may also have a column `gpu`. */
const LEAST_COLUMNS = 3;

/** True when a line near the top is a header of `nvidia-smi dmon` or of a query as CSV, or an object of rocm-smi. */
function sniff(head: Uint8Array): boolean {
  const lines = headText(head).split(/[\r\n\0]+/, MAX_LINES_BEFORE + 1);
  return lines.some((untrimmed) => {
    const line = untrimmed.trim();
    if (line.startsWith('{') || line.startsWith('[')) return looksLikeCards(line);
    const names = dmonNames(line);
    return names ? knownColumns(names) >= LEAST_COLUMNS : queryNames(line) !== null;
  });
}
