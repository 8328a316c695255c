import { groupBy } from '../../base/group-by.js';
import { lowerBound } from '../../base/search.js';
import { around, type Block, isInside, type Script } from '../python/script.js';
import type { Span } from '../python/source.js';

/** Conditions that hold in every step of some process: `rank == 0`, `scaler is not None`, `use_amp`. */
const ALWAYS =
  /rank\b|rank\(\)|is_main|is_master|master_process|main_process|is not None|\bamp\b|use_amp|scaler/;
/** Conditions that hold every so many steps. */
const PERIODIC = /%|\bstep\w*\s*==|\bidx\s*==|\bi\s*==/;
/** Conditions that let few steps go on: `if not should_log(step): return`. */
const SELECTIVE = /should_|log_/;
const LEAVING = new Set(['RaiseStatement', 'ReturnStatement', 'BreakStatement', 'ContinueStatement']);

/** Says whether code runs in every pass through a block, or only now and then. */
export class Guards {
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
