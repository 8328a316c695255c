import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import { takeFromLongest } from '../../replay/edits.js';
import type { OperatorTotal } from '../../traces/detail/operators.js';
import { Role } from '../../traces/detail/roles.js';
import { evidence, inMs, ms, percent, priceOf, silent, worthwhile } from '../kit/kit.js';
import type { Edit, RankFinding, TraceRule } from '../kit/rule.js';

const SHARE = 0.02;
/** No operator prepares a launch for so long unless it builds or searches something. */
const BUILDS_NS = 3e6;
const BUILDING_SHARE = 0.1;

export const recompiles: TraceRule = {
  reads: 'traces',
  info: {
    id: 'T16',
    title: 'Code is compiled, or plans are built, while training runs',
    needs: 'trace, better with TORCH_LOGS=recompiles',
    looksFor:
      'Compile spans after warm-up; a compiled function that looks up its cache and then runs eagerly (recompile limit reached); operators that take milliseconds to prepare a launch, for every new shape.',
    why: 'A new length, a changed flag or a new object breaks a guard: torch.compile compiles again, and after 8 times gives up and runs eagerly. cuDNN builds a plan for every new shape.',
    fix: {
      text: 'See which guard fails, then keep it from changing: pad or bucket lengths, mark the dimension dynamic. Raising the limit is the last resort.',
      code: 'TORCH_LOGS=recompiles python train.py      # which function, which guard\nx = pad_to_multiple(x, 256)                # few shapes instead of many\ntorch._dynamo.mark_dynamic(x, 1)           # or: one graph for all lengths',
    },
    check:
      'Padding must be masked out of attention and loss: compare the loss on one batch before and after.',
    cost: 'code',
    risk: 'numerics',
    thresholds: [
      { name: 'compiling', value: SHARE, unit: 'of the step', source: 'below it the gain is within noise' },
      {
        name: 'building a plan',
        value: BUILDS_NS / 1e6,
        unit: 'ms in one operator',
        source: 'eager operators take 0.005–0.5 ms; cuDNN plans 20–60 ms (zoo)',
      },
    ],
  },
  check(view) {
    const { compile } = view.facts.input;
    if (!view.facts.hasGpuWork) return silent('no GPU work: long operators compute');
    const findings: RankFinding[] = [];
    if (view.time.idle_compile >= SHARE * view.step) findings.push(compilesInSteps(view, compile));
    else if (builds(view).perStep >= BUILDING_SHARE * view.step) findings.push(buildsPlans(view));
    else if (fallsBackToEager(view)) findings.push(runsEagerly(view));
    return findings.length > 0 ? { findings } : silent('nothing is compiled or built inside the steps');
  },
};

/** A compiled function is looked up, but no compiled code runs: the recompile limit was reached. */
export function fallsBackToEager(view: TraceView): boolean {
  const operators = view.facts.detail?.operators ?? [];
  const looksUp = operators.some((o) => /^TorchDynamo Cache Lookup/.test(o.name));
  return looksUp && !operators.some((o) => (o.roles & Role.compiled) !== 0);
}

function compilesInSteps(view: TraceView, compile: TraceView['facts']['input']['compile']): RankFinding {
  const ns = view.time.idle_compile;
  return {
    id: 'compiles-in-steps',
    title: 'code is compiled or loaded inside the steps',
    confidence: 0.85,
    addresses: 'host',
    evidence: [
      evidence(
        view,
        `GPU idle ${ms(ns)} a step (${percent(ns / view.step)}) while code is compiled: ${compile.count} spans, e.g. ${(compile.name ?? '').slice(0, 60)}`,
        inMs(ns),
        'ms/step',
      ),
    ],
    price: priceOf(view, (plan) => plan.nodes.compile.fill(0)),
  };
}

interface Building {
  readonly perStep: number;
  readonly longest: OperatorTotal | undefined;
}

/** Operators that hand over to a library which plans; others that take long compute on the CPU. */
const MAKES_PLANS =
  /^aten::(?:_?cudnn|miopen|_?convolution|conv|_scaled_dot|_flash|_efficient|scaled_dot|mm$|addmm$|bmm$|baddbmm$|_thnn|lstm|gru)/;

function builds(view: TraceView): Building {
  const { detail } = view.facts;
  if (!detail) return { perStep: 0, longest: undefined };
  const slow = detail.operators.filter(
    (o) => o.longestSelf >= BUILDS_NS && MAKES_PLANS.test(o.name) && (o.roles & Role.data) === 0,
  );
  return { perStep: slow.reduce((ns, o) => ns + o.self, 0) / detail.steps, longest: slow[0] };
}

function buildsPlans(view: TraceView): RankFinding {
  const { perStep, longest } = builds(view);
  const fallback = fallsBackToEager(view);
  const saved: Edit = (plan) =>
    takeFromLongest(plan.nodes.hostWork, perStep * plan.steps.length, longest!.longestSelf);
  const price = priceOf(view, saved);
  const seen = evidence(
    view,
    `${longest!.name} takes up to ${ms(longest!.longestSelf)} before it launches anything; ${ms(perStep)} a step (${percent(perStep / view.step)}) goes into such preparation`,
    inMs(perStep),
    'ms/step',
  );
  const limit = evidence(
    view,
    'TorchDynamo looks up its cache every step and then runs eagerly: the recompile limit was reached',
  );
  return {
    id: fallback ? 'recompile-limit' : 'plans-rebuilt',
    title: fallback
      ? 'new shapes every step: compiled code is given up, plans are rebuilt'
      : 'operators rebuild their plan for every new shape',
    confidence: fallback ? 0.88 : 0.75,
    addresses: 'host',
    evidence: [seen, ...(fallback ? [limit] : [])],
    price: worthwhile(price) ? price : null,
  };
}

function runsEagerly(view: TraceView): RankFinding {
  return {
    id: 'recompile-limit',
    title: 'a compiled function runs eagerly: the recompile limit was reached',
    confidence: 0.7,
    addresses: 'host',
    evidence: [evidence(view, 'TorchDynamo looks up its cache every step, and no compiled code runs')],
    price: null,
  };
}
