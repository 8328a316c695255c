import { type Problem, ProblemLog } from '../base/problem.js';
import type { OperationTable } from '../model/operation-table.js';
import { isKnown, type Kind } from './kinds.js';

/** One operation of the step, on one stage: the same in every step and on every data-parallel rank. */
export interface Operation {
  readonly kind: Kind;
  /** Index into `stages`. */
  readonly stage: number;
  readonly sequence: number;
  /** As recorded in the step that the order is taken from. */
  readonly start: number;
  readonly end: number;
  /** Model chunk inside the stage and inside the model; 0 and the stage where the table has none. */
  readonly chunk: number;
  readonly globalChunk: number;
}

/**
 * A table as operations × lanes. A lane is one data-parallel rank in one step: lane = index of step × ranks + index of
 * rank. All lanes do the same operations, which are known once for all of them.
 */
export interface Layout {
  readonly operations: readonly Operation[];
  readonly steps: readonly number[];
  readonly dpRanks: readonly number[];
  /** Their numbers, ascending. */
  readonly stages: readonly number[];
  readonly lanes: number;
  /** Row of the table, by operation × lanes + lane. */
  readonly rows: Int32Array;
}

const UNEVEN = {
  message: 'Steps do not have the same operations on the same workers as most others.',
  consequence: 'They are left out.',
};
const UNKNOWN_KIND = {
  message: 'Operations of kinds whose place in a step is not known.',
  consequence: 'They are left out; what waited for them is thought to wait for nothing.',
};
const OVERSIZED = {
  message: 'There are more than 1024 stages, or more than a million pairs of step and data-parallel rank.',
  consequence: 'With so many stages nothing is played; of the pairs the first million are.',
};
/** Every stage is played once: beyond these the table is no job but damage, and would take for ever. */
const MAX_STAGES = 1024;
const MAX_LANES = 1 << 20;
const UNTIMED = {
  message: 'Operations without start or duration.',
  consequence: 'The steps with them are left out.',
};

/** Brings a table into rows and lanes; null when no step can be used. */
export function layOut(table: OperationTable): { layout: Layout | null; problems: readonly Problem[] } {
  const problems = new ProblemLog();
  const byLane = rowsByLane(table, problems);
  const dpRanks = sorted(byLane.map((lane) => lane.dpRank));
  const template = chooseTemplate(byLane);
  const stages = sorted((template?.rows ?? []).map((row) => table.stage[row]!));
  problems.add('oversized-job', OVERSIZED, null, Number(stages.length > MAX_STAGES));
  if (template === null || stages.length > MAX_STAGES) return { layout: null, problems: problems.list() };
  const sequence = sequencesOf(table);
  const keyOf = (row: number) => `${table.kind[row]}/${table.stage[row]}/${sequence[row]}`;
  const nodeOf = new Map(template.rows.map((row, node) => [keyOf(row), node]));
  const size = template.rows.length;

  const byStep = new Map<number, Lane[]>();
  for (const lane of byLane) {
    const lanes = byStep.get(lane.step);
    if (lanes) lanes.push(lane);
    else byStep.set(lane.step, [lane]);
  }
  const steps: number[] = [];
  const filled: Int32Array[] = [];
  for (const step of sorted(byStep.keys())) {
    const lanes = byStep.get(step)!.sort((a, b) => a.dpRank - b.dpRank);
    const columns =
      lanes.length === dpRanks.length ? lanes.map((lane) => placed(lane, nodeOf, keyOf)) : [null];
    if (nodeOf.size < size || columns.includes(null)) continue;
    steps.push(step);
    for (const column of columns) filled.push(column!);
  }
  problems.add('uneven-steps', UNEVEN, null, byStep.size - steps.length);
  if (steps.length === 0) return { layout: null, problems: problems.list() };

  const lanes = filled.length;
  const rows = new Int32Array(size * lanes);
  filled.forEach((column, lane) => {
    for (let node = 0; node < size; node++) rows[node * lanes + lane] = column[node]!;
  });
  const operations = template.rows.map((row) => operationAt(table, row, sequence[row]!, stages));
  return { layout: { operations, steps, dpRanks, stages, lanes, rows }, problems: problems.list() };
}

interface Lane {
  readonly step: number;
  readonly dpRank: number;
  readonly rows: number[];
}

function rowsByLane(table: OperationTable, problems: ProblemLog): Lane[] {
  const known = table.kinds.map(isKnown);
  const lanes = new Map<string, Lane>();
  let unknown = 0;
  let untimed = 0;
  let beyond = 0;
  for (let row = 0; row < table.rows; row++) {
    if (!known[table.kind[row]!]) {
      unknown++;
      continue;
    }
    if (!Number.isFinite(table.start[row]!) || !Number.isFinite(table.duration[row]!)) {
      untimed++;
      continue;
    }
    const key = `${table.step[row]}/${table.dpRank[row]}`;
    const lane = lanes.get(key);
    if (lane) lane.rows.push(row);
    else if (lanes.size >= MAX_LANES) beyond++;
    else lanes.set(key, { step: table.step[row]!, dpRank: table.dpRank[row]!, rows: [row] });
  }
  problems.add('unknown-operations', UNKNOWN_KIND, null, unknown);
  problems.add('untimed-operations', UNTIMED, null, untimed);
  problems.add('oversized-job', OVERSIZED, null, beyond);
  return [...lanes.values()];
}

/** The first lane of the size that most lanes have: its step is complete, and says in which order things are done. */
function chooseTemplate(lanes: readonly Lane[]): Lane | null {
  const sizes = new Map<number, number>();
  for (const { rows } of lanes) sizes.set(rows.length, (sizes.get(rows.length) ?? 0) + 1);
  const usual = [...sizes].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0]?.[0];
  const candidates = lanes.filter((lane) => lane.rows.length === usual);
  return candidates.sort((a, b) => a.step - b.step || a.dpRank - b.dpRank)[0] ?? null;
}

/** Rows of a lane by operation; null when it does not have exactly the operations of the others. */
function placed(
  lane: Lane,
  nodeOf: ReadonlyMap<string, number>,
  keyOf: (row: number) => string,
): Int32Array | null {
  if (lane.rows.length !== nodeOf.size) return null;
  const rows = new Int32Array(nodeOf.size).fill(-1);
  for (const row of lane.rows) {
    const node = nodeOf.get(keyOf(row));
    if (node === undefined || rows[node] !== -1) return null;
    rows[node] = row;
  }
  return rows;
}

/** As recorded, or counted by start where the file has none. */
function sequencesOf(table: OperationTable): Int32Array {
  if (table.sequence.every((s) => s >= 0)) return table.sequence;
  const counted = new Int32Array(table.rows);
  const next = new Map<string, number>();
  const order = Int32Array.from({ length: table.rows }, (_, row) => row);
  order.sort((a, b) => table.start[a]! - table.start[b]! || a - b);
  for (const row of order) {
    const key = `${table.step[row]}/${table.dpRank[row]}/${table.stage[row]}/${table.kind[row]}`;
    const at = next.get(key) ?? 0;
    counted[row] = at;
    next.set(key, at + 1);
  }
  return counted;
}

function operationAt(
  table: OperationTable,
  row: number,
  sequence: number,
  stages: readonly number[],
): Operation {
  const stage = stages.indexOf(table.stage[row]!);
  const start = table.start[row]!;
  return {
    kind: table.kinds[table.kind[row]!] as Kind,
    stage,
    sequence,
    start,
    end: start + Math.max(0, table.duration[row]!),
    chunk: Math.max(0, table.chunk[row]!),
    globalChunk:
      table.globalChunk[row]! >= 0
        ? table.globalChunk[row]!
        : Math.max(0, table.chunk[row]!) * stages.length + stage,
  };
}

const sorted = (values: Iterable<number>) => [...new Set(values)].sort((a, b) => a - b);
