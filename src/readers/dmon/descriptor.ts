import type { ReaderDescriptor } from '../common/reader.js';
import { looksLikeTelemetry } from './sniff.js';
import { TelemetryStreamReader } from './telemetry-stream-reader.js';

/** What nvidia-smi prints over time: `dmon`, or a query as CSV. */
export const dmonReader: ReaderDescriptor = {
  id: 'dmon',
  title: 'GPU telemetry (`nvidia-smi dmon`, or `--query-gpu=… --format=csv`)',
  sniff: looksLikeTelemetry,
  create: () => new TelemetryStreamReader(),
};
