import { seriesOf, summarizeTelemetry } from '../../telemetry/gpu-state.js';
import type { Content } from '../common/content.js';
import type { InspectLine } from '../common/reader.js';
import type { TelemetryRead } from '../common/telemetry/telemetry-stream-reader.js';

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
