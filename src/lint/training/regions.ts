import { groupBy } from '../../base/group-by.js';
import {
  around,
  type Block,
  type Call,
  type FunctionBlock,
  functionAround,
  isFunction,
  isInside,
  loopAround,
  type Script,
} from '../python/script.js';
import type { Span } from '../python/source.js';
import { Guards } from './guards.js';

/** Functions that do one step when they hold a backward pass. */
const STEP_NAME = /step|update|learn|optimi[sz]e|closure|train_(?:batch|iter|one)|fit_batch/i;
/** Functions that a step may call but that do not belong to it. */
const ASIDE_NAME = /eval|valid|test|infer|sample|generate|save|plot|checkpoint|log_every/i;
/** Hooks that Lightning calls in every training step. */
const LIGHTNING_HOOKS =
  /^(?:training_step|optimizer_step|on_train_batch_(?:start|end)|on_(?:before|after)_(?:backward|zero_grad|optimizer_step)|configure_gradient_clipping)$/;
const TRANSFORMERS_HOOKS = /^(?:compute_loss|training_step)$/;

/** The code that runs in every training step: loops with a backward pass, the functions they call, hooks of frameworks. */
export class Regions {
  /** Loops whose every pass is a step, or a micro-step. */
  readonly loops: ReadonlySet<Block>;
  /** Functions whose every call is a step or happens in one. */
  readonly functions: ReadonlySet<FunctionBlock>;
  /** Some loop of steps is repeated, by a loop around it or by calls in a loop: epochs. */
  readonly haveEpochs: boolean;
  /** Backward passes and optimizer steps. */
  readonly trainingCalls: readonly Call[];
  readonly #guards: Guards;
  readonly #script: Script;
  readonly #callsByMethod: ReadonlyMap<string, readonly Call[]>;

  constructor(script: Script) {
    this.#script = script;
    this.#callsByMethod = groupBy(script.calls, (call) => call.method);
    this.trainingCalls = script.calls.filter((call) => isBackward(call) || isOptimizerStep(call, script));
    this.#guards = new Guards(
      script,
      this.trainingCalls.map((call) => call.node),
    );
    const loops = new Set<Block>();
    const functions = new Set<FunctionBlock>(script.functions.filter(isHook));
    for (const call of this.trainingCalls) {
      const loop = loopAround(call.block);
      const around = functionAround(call.block);
      if (loop) loops.add(loop);
      else if (around && this.#isStep(around)) functions.add(around);
    }
    for (const step of [...functions])
      for (const call of this.callsOf(step)) {
        const loop = loopAround(call.block);
        if (loop) loops.add(loop);
      }
    this.loops = loops;
    this.functions = functions;
    this.haveEpochs = [...loops].some((loop) => this.#isRepeated(loop));
    for (const called of this.#calledFromSteps()) functions.add(called);
    if (loops.size + functions.size > 0)
      for (const method of script.functions) if (isForward(method)) functions.add(method);
  }

  get exist(): boolean {
    return this.loops.size + this.functions.size > 0;
  }

  /** Whether a place runs in every training step. */
  isPerStep(place: Span, block: Block): boolean {
    return this.regionOf(place, block) !== null;
  }

  /** The loop or function of the step that a place is in. Null: it does not run in every step. */
  regionOf(place: Span, block: Block): Block | null {
    for (const outer of around(block)) {
      const isRegion = this.loops.has(outer) || (isFunction(outer) && this.functions.has(outer));
      if (isRegion) return this.#guards.alwaysRuns(place, block, outer) ? outer : null;
    }
    return null;
  }

  /** Whether every pass of it, or of a loop in it, is a step. */
  isStepLoop(loop: Block): boolean {
    return [...this.loops].some((step) => isInside(step.span, loop.span));
  }

  /** Whether it runs whenever the block does. */
  isUnconditional(place: Span, block: Block): boolean {
    const outer = functionAround(block) ?? [...around(block)].at(-1)!;
    return this.#guards.alwaysRuns(place, block, outer);
  }

  /** Calls of a function of this file, by its name or as a method of that name. */
  callsOf(target: FunctionBlock): Call[] {
    return (this.#callsByMethod.get(target.name) ?? []).filter(
      (call) =>
        (target.className === null ? call.receiver === null : call.receiver !== null) &&
        !isInside(call.node, target.span),
    );
  }

  #isRepeated(loop: Block): boolean {
    // Micro-steps of an accumulated gradient are counted: `for micro in range(4)`.
    const goesOver = loop.head ? this.#script.source.textOf(loop.head) : '';
    if (loop.kind !== 'for' || goesOver.startsWith('range(')) return false;
    if (loop.parent && loopAround(loop.parent)) return true;
    const owner = functionAround(loop);
    return owner !== null && this.callsOf(owner).some((call) => loopAround(call.block) !== null);
  }

  #isStep(candidate: FunctionBlock): boolean {
    if (STEP_NAME.test(candidate.name)) return true;
    return this.callsOf(candidate).some((call) => loopAround(call.block) !== null);
  }

  #calledFromSteps(): FunctionBlock[] {
    const perStep = new Set(this.#script.calls.filter((call) => this.isPerStep(call.node, call.block)));
    return this.#script.functions.filter(
      (candidate) =>
        !this.functions.has(candidate) &&
        !ASIDE_NAME.test(candidate.name) &&
        ![...this.loops].some((loop) => isInside(loop.span, candidate.span)) &&
        this.callsOf(candidate).some((call) => perStep.has(call)),
    );
  }
}

function isBackward(call: Call): boolean {
  return call.method === 'backward' || call.method === 'manual_backward';
}

function isOptimizerStep(call: Call, script: Script): boolean {
  if (call.method !== 'step' || !call.receiver) return false;
  const receiver = script.source.textOf(call.receiver).replace(/\[[^\]]*\]$/, '');
  return /(?:^|[._])(?:\w*optim\w*|opt\w?|opt_\w+|\w+_opt|o|scaler|grad_scaler|sgd|adam)$/i.test(receiver);
}

function isHook({ name, bases }: FunctionBlock): boolean {
  if (bases.some((base) => /LightningModule$/.test(base))) return LIGHTNING_HOOKS.test(name);
  return bases.some((base) => /Trainer$/.test(base)) && TRANSFORMERS_HOOKS.test(name);
}

const isForward = ({ name, bases }: FunctionBlock): boolean =>
  name === 'forward' && bases.some((base) => /(?:^|\.)(?:Module|LightningModule)$/.test(base));
