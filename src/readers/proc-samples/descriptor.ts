import type { ReaderDescriptor } from '../common/reader.js';
import { headText } from '../common/text.js';
import { RecordingReader } from './recording-reader.js';

/** What `whyslow run` writes to OUT/telemetry/proc-<host>.jsonl, and `whyslow triage --out`. */
export const procSamplesReader: ReaderDescriptor = {
  id: 'proc-samples',
  title: 'samples of /proc (OUT/telemetry/proc-<host>.jsonl, `whyslow triage --out`)',
  sniff: (head) => /^\s*\{[^\n]*"kind"\s*:\s*"proc-samples"/.test(headText(head)),
  create: () => new RecordingReader(),
};
