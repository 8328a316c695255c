import type { ReaderDescriptor } from '../common/reader.js';
import { headText } from '../common/text.js';

/**
 * PyTorch execution traces: what `ExecutionTraceObserver` writes, and Chakra's JSON made from it. They hold the graph of operators
 * with shapes, for replay and simulation. They have no timeline, so they cannot show where time goes.
 */
export const executionTraceReader: ReaderDescriptor = {
  id: 'execution-trace',
  title: 'a PyTorch execution trace (ExecutionTraceObserver)',
  line: { one: 'execution trace', many: 'execution traces', counts: 'operators' },
  isAlwaysRefused: true,
  sniff: (head) => {
    const text = headText(head).trimStart();
    return text.startsWith('{') && (isFromObserver(text) || isFromChakra(text));
  },
  create: () => ({ isDone: true, push() {}, finish: () => ({ problems: [], refusal: REFUSAL }) }),
  digest: () => ({ of: 'run', events: 0, evidence: {} }),
};

/** Up to schema 1.0.1 a node has `rf_id` as a key; later it is an attribute, and the parent is in `ctrl_deps`. */
const isFromObserver = (text: string): boolean =>
  /"schema"\s*:\s*"/.test(text) && /"nodes"\s*:\s*\[/.test(text) && /"(?:rf_id|ctrl_deps)"\s*:/.test(text);

const isFromChakra = (text: string): boolean =>
  /^\{\s*"workload_graph"\s*:\s*\[/.test(text) && /"NodeType"\s*:/.test(text);

const REFUSAL =
  'it is a PyTorch execution trace (ExecutionTraceObserver), which lists operators without a timeline; pass the profiler trace of the same run, which torch.profiler writes with prof.export_chrome_trace("trace.json.gz")';
