import { formatMs, fromMs, ms, type Ns, ns, share } from '../../base/units.js';
import type { Compiling } from '../../diagnosis/compiling/compiling.js';
import type { TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { CompiledFunction } from '../../diagnosis/run-evidence.js';
import { recurring } from '../../facts/job-time.js';
import { about, type Use } from '../../remedies/remedies.js';
import { removeCalls, takeFromLongest } from '../../replay/edits.js';
import type { Plan } from '../../replay/plan.js';
import type { OperatorTotal } from '../../traces/detail/operators.js';
import { LEAST_PAUSE_NS } from '../../traces/detail/pauses.js';
import { Role } from '../../traces/detail/roles.js';
import { compileModel } from '../kit/compiling.js';
import { evidence, percentOfStep, shortened, timeEvidence } from '../kit/evidence.js';
import type { Evidence } from '../kit/finding.js';
import { fallsBackToEager, hostTime } from '../kit/host.js';
import { isWorthwhile, priceOf } from '../kit/price.js';
import { recompiled, recompileEvidence, recompileRemedy } from '../kit/recompile-log.js';
import {
  found,
  type RankFinding,
  type RuleResult,
  silent,
  type TraceRule,
  threshold,
  WITHIN_NOISE,
} from '../kit/rule.js';
import { has } from '../kit/work.js';

const COMPILING = threshold('compiling', share(0.02), 'of the step', WITHIN_NOISE);
const PLAN = threshold(
  'building a plan',
  ms(3),
  'ms in one operator',
  'eager operators take 0.005–0.5 ms; cuDNN plans 20–60 ms (zoo)',
);
const PLANS = threshold('building plans', share(0.1), 'of the step', WITHIN_NOISE);

export const rule: TraceRule = {
  reads: 'traces',
  recurs: true,
  lines: /torch\._dynamo|torch\._inductor|compile/,
  unpriced: 'allowed',
  smallGain: 'allowed',
  info: {
    id: 'recompiles',
    alias: 'T16',
    title: 'Code is compiled, or plans are built, while training runs',
    needs: 'trace, better with the log of TORCH_TRACE or TORCH_LOGS=recompiles',
    looksFor:
      'Compile spans after warm-up; a compiled function that looks up its cache and then runs eagerly (recompile limit reached); operators that take milliseconds to prepare a launch, for every new shape.',
    why: 'A new length, a changed flag or a new object breaks a guard: torch.compile compiles again, and after 8 times gives up and runs eagerly. cuDNN builds a plan for every new shape.',
    ...about('stable-guards'),
    thresholds: [COMPILING, PLAN, PLANS],
  },
  check(view, run) {
    return withLog(checkTrace(view), recompiled(run, view.rank), run.evidence.compiling);
  },
};

/** The torch.compile log names function and guard, which no trace does. */
function withLog(
  inTrace: RuleResult,
  functions: readonly CompiledFunction[],
  compiling: Compiling | null,
): RuleResult {
  if (functions.length === 0) return inTrace;
  const remedy = recompileRemedy(functions);
  const more = recompileEvidence(functions, compiling);
  if ('findings' in inTrace)
    return found(
      ...inTrace.findings.map((f) => ({
        ...f,
        evidence: [...f.evidence, ...more],
        ...(remedy && f.id !== 'plans-rebuilt' ? { remedy } : {}),
      })),
    );
  // Recompiles that the trace does not show are over. A function that was given up stays slow.
  return functions[0]!.limit === null ? inTrace : found(gaveUp(functions[0]!, more, remedy));
}

function gaveUp(
  { name }: CompiledFunction,
  evidence: readonly Evidence[],
  remedy: Use | undefined,
): RankFinding {
  return {
    id: 'recompile-limit',
    title: `${name} runs eagerly: the recompile limit was reached`,
    confidence: 0.85,
    addresses: 'host',
    evidence,
    price: null,
    ...(remedy ? { remedy } : {}),
  };
}

function checkTrace(view: TraceView): RuleResult {
  if (!view.facts.hasGpuWork) return silent('no GPU work: long operators compute');
  if (view.time.idle_compile >= COMPILING.value * view.step.unprofiled)
    return view.job && recurring(view.job).some((p) => p.name === 'compile')
      ? silent('compile-time reports it, from all steps')
      : found(compilesInSteps(view));
  const builders = plansBuilt(view);
  const perStep = ns(builders.reduce((sum, o) => sum + beyondUsual(o), 0) / (view.facts.detail?.steps ?? 1));
  if (perStep >= PLANS.value * view.step.unprofiled) return found(buildsPlans(view, perStep, builders[0]!));
  if (fallsBackToEager(view)) return found(runsEagerly(view));
  return silent('nothing is compiled or built inside the steps');
}

function compilesInSteps(view: TraceView): RankFinding {
  const time = view.time.idle_compile;
  const { count, name } = view.facts.input.compile;
  const text = `GPU idle ${formatMs(time)} per step (${percentOfStep(view, time)}) while code is compiled: ${count} spans, e.g. ${shortened(name ?? '')}`;
  return {
    id: 'compiles-in-steps',
    title: 'code is compiled or loaded inside the steps',
    confidence: 0.85,
    addresses: 'host',
    evidence: [timeEvidence(view, time, text)],
    price: priceOf(view, (plan) => withoutCompiling(plan, time > MOSTLY_COMPILES * view.step.unprofiled)),
  };
}

/** From this part of the step on, pauses in it are the compiler's too. */
const MOSTLY_COMPILES = 0.5;

/**
 * Tuning runs candidates on the GPU: they go too. So does Python around compile spans. Guards are built and the compiler's
 * objects are collected in pauses, which no span shows.
 */
function withoutCompiling(plan: Plan, pausesToo: boolean): void {
  const { compile, hostWork, inOperator, roles, length } = plan.nodes;
  for (let n = 0; n < length; n++)
    if (compile[n]! > 0 || (pausesToo && hostWork[n]! >= LEAST_PAUSE_NS)) hostWork[n] = inOperator[n]!;
  compile.fill(0);
  removeCalls(plan, (n) => has(roles[n]!, Role.compiling));
}

/** Operators of libraries that build plans; others that take long compute on the CPU. */
const MAKES_PLANS =
  /^aten::(?:_?cudnn|miopen|_?convolution|conv|_scaled_dot|_flash|_efficient|scaled_dot|mm$|addmm$|bmm$|baddbmm$|_thnn|lstm|gru)/;

/** What such an operator takes with a plan that it has already (zoo: 0.02–0.08 ms under the profiler). */
const USUAL_NS = 40_000;
const beyondUsual = ({ self, count }: OperatorTotal) => Math.max(0, self - count * USUAL_NS);

/** Operators that build plans. Where one takes milliseconds, shapes are new, and all the others build theirs too. */
function plansBuilt(view: TraceView): readonly OperatorTotal[] {
  const { operators } = hostTime(view, (o) => MAKES_PLANS.test(o.name) && !has(o.roles, Role.data));
  const rebuilt = operators.some((o) => o.longestSelf >= fromMs(PLAN.value));
  return rebuilt ? operators.filter((o) => beyondUsual(o) > 0) : [];
}

function buildsPlans(view: TraceView, perStep: Ns, { name, longestSelf }: OperatorTotal): RankFinding {
  const gaveUp = fallsBackToEager(view);
  const compile = compileModel(view);
  const price = priceOf(view, (plan, level) => {
    takeFromLongest(plan.nodes.hostWork, perStep * plan.steps.length, longestSelf);
    // With shapes that repeat, compiled code runs again.
    if (gaveUp) compile(plan, level);
  });
  const text = `${name} takes up to ${formatMs(ns(longestSelf))} before it launches anything; ${formatMs(perStep)} per step (${percentOfStep(view, perStep)}) goes into such preparation`;
  const limit =
    'TorchDynamo looks up its cache every step and then runs eagerly: the recompile limit was reached';
  return {
    id: gaveUp ? 'recompile-limit' : 'plans-rebuilt',
    title: gaveUp
      ? 'new shapes in every step: compiled code falls back to eager, operators rebuild their plans'
      : 'operators rebuild their plan for every new shape',
    confidence: gaveUp ? 0.88 : 0.75,
    addresses: 'host',
    evidence: [timeEvidence(view, perStep, text), ...(gaveUp ? [evidence(view, limit)] : [])],
    price: isWorthwhile(price) ? price : null,
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
