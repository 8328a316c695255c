import { type GpuState, summarizeTelemetry } from '../../telemetry/gpu-state.js';
import { jobActivity } from '../../telemetry/processes/job-activity.js';
import type { Content } from '../common/content.js';
import type { ReaderDescriptor } from '../common/reader.js';
import { TelemetryStreamReader } from '../common/telemetry/telemetry-stream-reader.js';
import { headText } from '../common/text.js';
import { type RecordingRead, RecordingReader } from './recording-reader.js';

/** What `whyslow run` writes to OUT/telemetry/proc-<host>.jsonl, and `whyslow triage --out`. */
export const procSamplesReader: ReaderDescriptor<RecordingRead> = {
  id: 'proc-samples',
  title: 'samples of /proc (OUT/telemetry/proc-<host>.jsonl, `whyslow triage --out`)',
  sniff: (head) => /^\s*\{[^\n]*"kind"\s*:\s*"proc-samples"/.test(headText(head)),
  line: { one: 'recording of /proc', many: 'recordings of /proc', counts: 'samples' },
  create: () => new RecordingReader(),
  digest,
};

function digest({ recording }: RecordingRead): Content {
  const activity = recording && jobActivity(recording);
  const gpus = gpusIn(recording?.gpuText ?? '');
  const evidence = { activity, ...(gpus.length > 0 ? { gpus } : {}) };
  return { of: 'run', events: recording?.samples.length ?? 0, evidence };
}

/** What nvidia-smi printed meanwhile, if the recording has it. */
function gpusIn(text: string): readonly GpuState[] {
  const reader = new TelemetryStreamReader();
  reader.push(Buffer.from(text, 'latin1'));
  return summarizeTelemetry(reader.finish().telemetry);
}
