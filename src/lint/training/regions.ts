import { groupBy } from '../../base/group-by.js';
import { lowerBound } from '../../base/search.js';
import type { Span } from '../python/nodes.js';
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

/** Conditions that hold in every step of some process: `rank == 0`, `scaler is not None`, `use_amp`. */
const ALWAYS =
  /rank\b|rank\(\)|is_main|is_master|master_process|main_process|is not None|\bamp\b|use_amp|scaler/;
/** Conditions that hold every so many steps. */
const PERIODIC = /%|\bstep\w*\s*==|\bidx\s*==|\bi\s*==/;
/** Conditions that let few steps go on: `if not should_log(step): return`. */
const SELECTIVE = /should_|log_/;
const LEAVING = new Set(['RaiseStatement', 'ReturnStatement', 'BreakStatement', 'ContinueStatement']);

/** Says whether code runs in every pass through a block, or only now and then. */
class Guards {
  readonly #script: Script;
  /** Where they start, sorted. */
  readonly #trainingCalls: readonly number[];
  readonly #branches: ReadonlyMap<Block | null, readonly Block[]>;
  readonly #skips = new Map<Block, readonly Span[]>();

  /** @param trainingCalls backward passes and optimizer steps: a condition around them is part of the step */
  constructor(script: Script, trainingCalls: readonly Span[]) {
    this.#script = script;
    this.#trainingCalls = trainingCalls.map((call) => call.from).sort((a, b) => a - b);
    const branches = script.blocks.filter((b) => b.kind === 'if' && b.owner.name === 'IfStatement');
    this.#branches = groupBy(branches, (b) => b.parent);
  }

  /** Whether a place in `block` runs each time that `outer` does, as far as the conditions between them tell. */
  alwaysRuns(place: Span, block: Block, outer: Block): boolean {
    for (const at of around(block)) {
      if (this.#isSkipped(place, at)) return false;
      if (at === outer) return true;
      if (!this.#isEntered(at, place)) return false;
    }
    return false;
  }

  #isEntered(block: Block, place: Span): boolean {
    if (
      block.kind === 'except' ||
      block.kind === 'class' ||
      block.kind === 'lambda' ||
      block.kind === 'function'
    )
      return false;
    if (block.kind !== 'if' && block.kind !== 'else') return true;
    if (block.head && isInside(place, block.head)) return true; // the condition itself
    if (this.#hasTraining(block.span)) return true;
    const condition = block.head ? this.#script.source.textOf(block.head) : '';
    // `if step % 100 == 0: … else: …`: the other branch is the usual one. So is that of `raise` or `exit`.
    if (block.kind === 'else') return PERIODIC.test(condition) || ALWAYS.test(condition);
    if (this.#leaves(block)) return false;
    return ALWAYS.test(condition) && !PERIODIC.test(condition);
  }

  /** The branch ends the loop, the function or the program. */
  #leaves({ span }: Block): boolean {
    const last = span.lastChild;
    if (!last) return false;
    return LEAVING.has(last.name) || /^(?:sys\.|os\._)?exit\(/.test(this.#script.source.textOf(last));
  }

  #hasTraining(span: Span): boolean {
    const first = this.#trainingCalls[lowerBound(this.#trainingCalls, span.from)];
    return first !== undefined && first < span.to;
  }

  /** After `if step % 100: continue` only every hundredth pass goes on. */
  #isSkipped(place: Span, block: Block): boolean {
    const skips = this.#skips.get(block) ?? this.#findSkips(block);
    this.#skips.set(block, skips);
    return skips.some(
      (skip) => skip.to <= place.from && !this.#hasTraining({ from: skip.to, to: block.span.to }),
    );
  }

  #findSkips(block: Block): readonly Span[] {
    return (this.#branches.get(block) ?? [])
      .filter((b) => b.head && isSelective(this.#script.source.textOf(b.head)))
      .filter((b) => /^(?:Continue|Return)Statement$/.test(b.span.lastChild?.name ?? ''))
      .map((b) => b.owner);
  }
}

const isSelective = (condition: string): boolean => PERIODIC.test(condition) || SELECTIVE.test(condition);

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
