import { type Problem, ProblemLog } from '../base/problem.js';
import { mean } from '../base/statistics.js';
import type { OperationTable } from '../model/operation-table.js';
import { buildGraph, type Graph } from './graph.js';
import { shownAs } from './kinds.js';
import { type Layout, layOut } from './layout.js';
import { simulate } from './simulate.js';
import { idealTimes, ownTimes, recordedSteps } from './times.js';

/**
 * How long a job would take if no operation were slower than others of its kind, and which workers, stages and kinds make
 * the difference. After "Understanding Stragglers in Large Model Training Using What-if Analysis" (Lin et al., OSDI 2025).
 * Seconds per step, means over steps. Plain data.
 */
export interface WhatIf {
  /** As recorded, including gaps that nothing in the table explains. */
  readonly recorded_s: number;
  /** Replayed with the recorded times: what the figures below are compared with. */
  readonly actual_s: number;
  /** Replayed with the ideal time of each kind. */
  readonly ideal_s: number;
  /** actual / ideal, the paper's S. For one worker or kind: it as recorded, all others ideal. */
  readonly slowdown: number;
  /** Share of the slowdown that goes away when the slowest workers are ideal. Null: no slowdown. */
  readonly m_w: number | null;
  /** The same for the last stage. Null: no slowdown, or one stage only. */
  readonly m_s: number | null;
  readonly withoutSlowestWorkers_s: number;
  readonly withoutLastStage_s: number;
  readonly perStep: readonly StepWhatIf[];
  /** All workers, slowest first. */
  readonly workers: readonly WorkerSlowdown[];
  /** The slowest 3%, at least one: what `m_w` is about. */
  readonly slowestWorkers: readonly WorkerSlowdown[];
  /** Slowest first, like the next two. */
  readonly byKind: readonly Slowdown<string>[];
  readonly byStage: readonly Slowdown<number>[];
  readonly byDpRank: readonly Slowdown<number>[];
}

export interface StepWhatIf {
  readonly step: number;
  readonly recorded_s: number;
  readonly actual_s: number;
  readonly ideal_s: number;
  readonly slowdown: number;
}

export interface Slowdown<T> {
  readonly of: T;
  readonly slowdown: number;
}

export interface WorkerSlowdown {
  readonly dpRank: number;
  readonly stage: number;
  /** −1: the table has none. */
  readonly rank: number;
  /** The smaller of its data-parallel rank's and its stage's: one slow worker makes both slow. */
  readonly slowdown: number;
}

export interface WhatIfAnswer {
  /** Null when no step can be replayed; the problems say why. */
  readonly whatIf: WhatIf | null;
  readonly problems: readonly Problem[];
}

/** As in the paper: the slowest 3% of workers. */
const SLOWEST_SHARE = 0.03;
/** Below this, shares of the slowdown would be noise divided by noise. */
const LEAST_SLOWDOWN = 1.001;

const CIRCLE = {
  message: 'Operations of a step wait for each other in a circle.',
  consequence: 'The steps cannot be replayed: there is no what-if.',
};

export function whatIf(table: OperationTable): WhatIfAnswer {
  const { layout, problems } = layOut(table);
  if (layout === null) return { whatIf: null, problems };
  const graph = buildGraph(layout.operations, layout.stages.length);
  if (graph === null) {
    const log = new ProblemLog();
    log.addAll(problems);
    log.add('circular-operations', CIRCLE);
    return { whatIf: null, problems: log.list() };
  }
  return { whatIf: new Replays(table, layout, graph).compare(), problems };
}

/** Replays of one job, each with some operations ideal and the others as recorded. */
class Replays {
  readonly #own: Float64Array;
  readonly #ideal: Float64Array;
  readonly #idealStep: number;

  constructor(
    readonly table: OperationTable,
    readonly layout: Layout,
    readonly graph: Graph,
  ) {
    this.#own = ownTimes(layout, graph, table);
    this.#ideal = idealTimes(layout, this.#own);
    // All lanes are alike: one is enough.
    this.#idealStep = simulate(graph, this.#ideal, 1, 1)[0]!;
  }

  compare(): WhatIf {
    const { layout } = this;
    const ideal = this.#idealStep;
    const actual = this.#steps(() => false);
    const actual_s = mean(actual);
    const recorded = recordedSteps(layout, this.table);
    const byDpRank = layout.dpRanks.map((of, rank) => ({ of, slowdown: this.#onlyRank(rank) }));
    const byStage = layout.stages.map((of, stage) => ({
      of,
      slowdown: this.#only((node) => layout.operations[node]!.stage === stage),
    }));
    const names = [...new Set(layout.operations.map((o) => shownAs(o.kind)))];
    const byKind = names.map((of) => ({
      of,
      slowdown: this.#only((node) => shownAs(layout.operations[node]!.kind) === of),
    }));
    const workers = this.#workers(byDpRank, byStage);
    const slowestWorkers = workers.slice(0, Math.ceil(workers.length * SLOWEST_SHARE));
    const withoutSlowestWorkers_s = mean(this.#withoutWorkers(slowestWorkers));
    const last = layout.stages.length - 1;
    const withoutLastStage_s = mean(this.#steps((node) => layout.operations[node]!.stage === last));
    const share = (without: number) =>
      actual_s < ideal * LEAST_SLOWDOWN ? null : (actual_s - without) / (actual_s - ideal);
    return {
      recorded_s: mean(recorded),
      actual_s,
      ideal_s: ideal,
      slowdown: ratio(actual_s, ideal),
      m_w: share(withoutSlowestWorkers_s),
      m_s: last === 0 ? null : share(withoutLastStage_s),
      withoutSlowestWorkers_s,
      withoutLastStage_s,
      perStep: layout.steps.map((step, i) => ({
        step,
        recorded_s: recorded[i]!,
        actual_s: actual[i]!,
        ideal_s: ideal,
        slowdown: ratio(actual[i]!, ideal),
      })),
      workers,
      slowestWorkers,
      byKind: byKind.toSorted(slowestFirst),
      byStage: byStage.toSorted(slowestFirst),
      byDpRank: byDpRank.toSorted(slowestFirst),
    };
  }

  /** Step times with these operations ideal. */
  #steps(isIdeal: (node: number, rank: number) => boolean): Float64Array {
    const { lanes, dpRanks, operations } = this.layout;
    const times = this.#own.slice();
    for (let node = 0; node < operations.length; node++)
      for (let rank = 0; rank < dpRanks.length; rank++) {
        if (!isIdeal(node, rank)) continue;
        for (let lane = rank; lane < lanes; lane += dpRanks.length)
          times[node * lanes + lane] = this.#ideal[node]!;
      }
    return simulate(this.graph, times, lanes, dpRanks.length);
  }

  /** Slowdown with these operations as recorded and all others ideal. */
  #only(isRecorded: (node: number) => boolean): number {
    return ratio(mean(this.#steps((node) => !isRecorded(node))), this.#idealStep);
  }

  /** The same for one data-parallel rank. All others are alike, so one of them is played for all. */
  #onlyRank(rank: number): number {
    const { lanes, dpRanks, steps, operations } = this.layout;
    const ranks = Math.min(2, dpRanks.length);
    const width = steps.length * ranks;
    const times = new Float64Array(operations.length * width);
    for (let node = 0; node < operations.length; node++) {
      times.fill(this.#ideal[node]!, node * width, (node + 1) * width);
      for (let step = 0; step < steps.length; step++)
        times[node * width + step * ranks] = this.#own[node * lanes + step * dpRanks.length + rank]!;
    }
    return ratio(mean(simulate(this.graph, times, width, ranks)), this.#idealStep);
  }

  #workers(
    byDpRank: readonly Slowdown<number>[],
    byStage: readonly Slowdown<number>[],
  ): readonly WorkerSlowdown[] {
    const { layout, table } = this;
    const { operations, lanes, rows } = layout;
    const workers = byStage.flatMap((stage, s) => {
      const node = operations.findIndex((o) => o.stage === s);
      return byDpRank.map((dp, rank) => ({
        dpRank: dp.of,
        stage: stage.of,
        rank: table.rank[rows[node * lanes + rank]!]!,
        slowdown: Math.min(dp.slowdown, stage.slowdown),
      }));
    });
    return workers.sort(
      (a, b) => slowestFirst(a, b) || a.rank - b.rank || a.dpRank - b.dpRank || a.stage - b.stage,
    );
  }

  #withoutWorkers(workers: readonly WorkerSlowdown[]): Float64Array {
    const { operations, dpRanks, stages } = this.layout;
    const fixed = new Set(workers.map((w) => `${w.dpRank}/${w.stage}`));
    return this.#steps((node, rank) => fixed.has(`${dpRanks[rank]}/${stages[operations[node]!.stage]}`));
  }
}

const ratio = (a: number, b: number) => (b > 0 ? a / b : 1);
const slowestFirst = (a: { readonly slowdown: number }, b: { readonly slowdown: number }) =>
  b.slowdown - a.slowdown;
