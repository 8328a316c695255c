import { formatCount, formatMs } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import type { Remark } from '../kit/claim.js';

const ENGINES = { vllm: 'vLLM', sglang: 'SGLang', tensorrt: 'TensorRT' } as const;

const tracesOf = ({ views }: Observed) =>
  views.flatMap((view) => (view.source === 'trace' ? [view.facts] : []));

/** What the program is, if it does not train with PyTorch. */
export function programRemark(run: Observed): Remark | null {
  const [facts] = tracesOf(run);
  if (!facts) return null;
  const { torch, serving } = facts.program;
  if (serving && !facts.program.trains)
    return { detail: `These are steps of ${ENGINES[serving]}, which serves a model`, qualifies: null };
  return torch
    ? null
    : {
        detail: 'This is not a PyTorch program, so whyslow has no advice beyond where the time goes',
        qualifies: null,
      };
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
