import { formatCount, formatMs } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { Engine, Program } from '../../traces/program.js';
import type { TraceFacts } from '../../traces/trace-facts.js';
import type { Remark } from '../kit/claim.js';
import { capitalized } from '../kit/words.js';

const ENGINE_NAMES: Readonly<Record<Engine, string>> = {
  vllm: 'vLLM',
  sglang: 'SGLang',
  tgi: 'Text Generation Inference',
  'tensorrt-llm': 'TensorRT-LLM',
  tensorrt: 'TensorRT',
  lmdeploy: 'LMDeploy',
  xdit: 'xDiT',
};

const tracesOf = ({ views }: Observed) =>
  views.flatMap((view) => (view.source === 'trace' ? [view.facts] : []));

/** What the recording shows, if it is not training with PyTorch. */
export function programRemark(run: Observed): Remark | null {
  const [facts] = tracesOf(run);
  const detail = facts && (whatItShows(facts.program) ?? onlyCopies(facts));
  return detail ? { detail, qualifies: null } : null;
}

const onlyCopies = ({ hasGpuWork, accelerator }: TraceFacts) =>
  hasGpuWork && accelerator.kernels === 0 ? 'The GPU runs no kernels here, only copies' : null;

function whatItShows({ torch, task, engine, captures, served }: Program): string | null {
  const captured = 'a CUDA graph is captured: most launches go into the graph, which runs later';
  if (engine && task !== 'training') {
    const name = ENGINE_NAMES[engine];
    if (captures) return `The recording shows ${name} at start-up: ${captured}`;
    const kinds = [
      ...(served.prefill > 0 ? [formatCount(served.prefill, 'prefill step')] : []),
      ...(served.decode > 0 ? [formatCount(served.decode, 'decode step')] : []),
    ];
    return `The recording shows ${name}, which serves a model${kinds.length > 0 ? `: ${kinds.join(' and ')}` : ''}`;
  }
  if (!torch) return 'This is not a PyTorch program, so whyslow has no advice beyond where the time goes';
  if (captures) return capitalized(captured);
  return task === 'inference'
    ? 'The recording shows forward passes only: no backward pass and no optimizer'
    : null;
}

/** Start-up that is left within the figures, as a share of them: less hardly matters. */
const LITTLE = 0.05;

/** What the job does once, and that figures leave it out. */
export function startUpRemark(run: Observed): Remark | null {
  const left = tracesOf(run).flatMap(({ startUp }) => (startUp && startUp.left < LITTLE ? [startUp] : []));
  const longest = left.reduce<(typeof left)[number] | null>((a, b) => (a && a.time >= b.time ? a : b), null);
  if (!longest) return null;
  const where =
    longest.steps > 0
      ? ` with the first ${longest.steps > 1 ? formatCount(longest.steps, 'step') : 'step'}`
      : '';
  return { detail: `Start-up took ${formatMs(longest.time)} and is left out${where}`, qualifies: null };
}
