import type { ReaderDescriptor } from '../common/reader.js';
import { headText } from '../common/text.js';

/**
 * Structured logs of torch.compile: what a job under `TORCH_TRACE=folder` writes, and what tlparse reads. They hold graphs, guards
 * and generated code. They have no timeline of the job.
 */
export const torchTraceReader: ReaderDescriptor = {
  id: 'torch-trace',
  title: 'a TORCH_TRACE log of torch.compile',
  line: { one: 'TORCH_TRACE log', many: 'TORCH_TRACE logs', counts: 'records' },
  isAlwaysRefused: true,
  sniff: (head) => RECORD.test(headText(head).trimStart()),
  create: () => ({ isDone: true, push() {}, finish: () => ({ problems: [], refusal: REFUSAL }) }),
  digest: () => ({ of: 'run', events: 0, evidence: {} }),
};

/** `V1206 15:24:45.403000 1667746 torch/_dynamo/utils.py:1288] {"chromium_event": …`: glog's prefix, then JSON. */
const RECORD = /^V\d{4} [\d:.]{8,20} \d{1,20} [^\s\]]{1,300}:\d{1,9}\] \{/;

const REFUSAL =
  'it is a TORCH_TRACE log of torch.compile (tlparse’s input), which has no timeline; run `tlparse FILE` to read it, and pass a trace that torch.profiler wrote with export_chrome_trace("trace.json.gz")';
