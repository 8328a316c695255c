import type { Diagnosis } from '../answers/diagnosis.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import type { RankFacts } from '../facts/rank-facts.js';
import {
  sharesOfClasses,
  TIME_CLASSES,
  type TimeByClass,
  type TimeClass,
  totals,
} from '../facts/time-class.js';
import type { RankTable } from '../run/table/build-table.js';
import type { RankSteps, StepMetric } from './page-data.js';
import { encodeTimes } from './page-data.js';

/** More columns than pixels help nobody. */
const MAX_COLUMNS = 1000;
/** Beyond so many cells a byte for each has to do. */
const MAX_WIDE_CELLS = 250_000;
/** A class that nowhere takes this share of a step is left out, to keep the page small. */
const LEAST_SHARE = 0.01;
/** Bytes of all metrics together, before compression. Smaller classes are left out first. */
const MAX_BYTES = 32e6;

const COMMUNICATION: readonly TimeClass[] = ['comms_transfer', 'comms_wait', 'idle_comms'];

/** Every rank and step, as ranks were compared: from event logs if these have more steps. Null: no step was recorded. */
export function rankStepsOf({ views, comparison, locations, decisive }: Diagnosis): RankSteps | null {
  const fromLogs = comparison?.table?.fromLogs ?? views.every((v) => logOf(v) !== null);
  const rows = onePerRank(views).map((view) => ({
    rank: view.rank,
    facts: (fromLogs ? logOf(view) : null) ?? view.facts,
  }));
  // Ranks are compared alike: if one has a trace, its steps still divide as those of ranks with a log only.
  const answered = fromLogs && decisive?.source === 'trace' ? decisive.time : null;
  const single = rows.length === 1;
  const steps = [...new Set(rows.flatMap((row) => row.facts.steps.indices))].sort((a, b) => a - b);
  if (steps.length === 0) return null;
  const stepsPerColumn = Math.ceil(steps.length / MAX_COLUMNS);
  const columns = steps.filter((_, i) => i % stepsPerColumn === 0);
  const columnOf = new Map(steps.map((step, i) => [step, Math.floor(i / stepsPerColumn)]));
  const cells = rows.length * columns.length;
  const step = new Float64Array(cells).fill(Number.NaN);
  const classes = TIME_CLASSES.map(() => new Float64Array(cells).fill(Number.NaN));
  rows.forEach(({ rank, facts }, r) => {
    const divided = dividedSteps(facts, rank, comparison?.table ?? null, single ? answered : null);
    facts.steps.indices.forEach((number, i) => {
      const cell = r * columns.length + columnOf.get(number)!;
      if (facts.steps.periods[i]! <= step[cell]!) return;
      step[cell] = facts.steps.periods[i]!;
      for (let c = 0; c < TIME_CLASSES.length; c++) classes[c]![cell] = divided(number, i)[TIME_CLASSES[c]!];
    });
  });
  const table = new Map(comparison?.table?.ranks.map((rank, i) => [rank, i]));
  return {
    ranks: rows.map((row) => row.rank),
    hosts: rows.map(
      ({ rank }) => locations.ranks.get(rank)?.host ?? hostIn(comparison?.table, table.get(rank)),
    ),
    coordinates: rows.map(
      ({ rank }) =>
        locations.ranks.get(rank)?.coordinates ??
        comparison?.table?.coordinates[table.get(rank) ?? -1] ??
        null,
    ),
    steps: columns,
    stepsPerColumn,
    profiled: !fromLogs && decisive?.source === 'trace',
    dividedByLogs: answered !== null && !single,
    metrics: metricsOf(step, classes),
  };
}

const hostIn = (table: RankTable | null | undefined, index: number | undefined): string | null =>
  index === undefined ? null : (table?.hosts[index] ?? null);

const logOf = (view: RankView): RankFacts | null =>
  view.source === 'log' ? view.facts : (view.log?.facts ?? null);

/** A rank may have several traces. */
const onePerRank = (views: readonly RankView[]) =>
  [...new Map(views.toReversed().map((v) => [v.rank, v])).values()].sort((a, b) => a.rank - b.rank);

/**
 * Time by class of a step, with waiting for other ranks separated from transfer if ranks were compared. `answer`: how the step
 * of the answer divides, if a trace tells more about that than the phases of the log.
 */
function dividedSteps(facts: RankFacts, rank: number, table: RankTable | null, answer: TimeByClass | null) {
  const row = table?.ranks.indexOf(rank) ?? -1;
  const compared = new Map(row < 0 ? [] : table!.steps.map((step, s) => [step, table!.time[row]![s]!]));
  if (answer) {
    const recorded = totals((c) => facts.timePerStep.reduce((sum, time) => sum + time[c], 0));
    const moved = redivide(recorded, answer);
    return (_: number, index: number): TimeByClass => moved(facts.timePerStep[index]!);
  }
  return (step: number, index: number): TimeByClass => compared.get(step) ?? facts.timePerStep[index]!;
}

function metricsOf(step: Float64Array, classes: readonly Float64Array[]): StepMetric[] {
  const own = step.map(
    (time, cell) =>
      time - COMMUNICATION.reduce((sum, c) => sum + classes[TIME_CLASSES.indexOf(c)]![cell]!, 0),
  );
  const sums = classes.map((column) => column.reduce((sum, t) => sum + (t || 0), 0));
  const matters = (column: Float64Array) => column.some((t, cell) => t > LEAST_SHARE * step[cell]!);
  const wide = step.length <= MAX_WIDE_CELLS;
  const room = Math.max(2, Math.floor(MAX_BYTES / (step.length * (wide ? 2 : 1))) - 2);
  const kept = TIME_CLASSES.map((_, c) => c)
    .filter((c) => matters(classes[c]!))
    .sort((a, b) => sums[b]! - sums[a]!)
    .slice(0, room)
    .sort((a, b) => a - b);
  const metric = (name: StepMetric['name'], times: Float64Array): StepMetric => ({
    name,
    ...encodeTimes(times, wide),
  });
  return [
    metric('step', step),
    ...(kept.some((c) => COMMUNICATION.includes(TIME_CLASSES[c]!)) ? [metric('own', own)] : []),
    ...kept.map((c) => metric(TIME_CLASSES[c]!, classes[c]!)),
  ];
}

/**
 * Moves the time of single steps between classes as their total moved: classes that shrank give the same part of their time
 * in every step, those that grew share it. So steps that divide as `from` in total then divide as `to`, none gets longer or
 * shorter, and a step with more of a class than the others keeps more.
 */
export function redivide(from: TimeByClass, to: TimeByClass): (step: TimeByClass) => TimeByClass {
  const before = sharesOfClasses(from);
  const after = sharesOfClasses(to);
  const kept = totals((c) => (before[c] > after[c] ? after[c] / before[c] : 1));
  const gained = sharesOfClasses(totals((c) => Math.max(0, after[c] - before[c])));
  return (step) => {
    const given = TIME_CLASSES.reduce((sum, c) => sum + step[c] * (1 - kept[c]), 0);
    return totals((c) => step[c] * kept[c] + given * gained[c]);
  };
}
