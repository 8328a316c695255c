import { groupBy } from '../base/group-by.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import type { OperationTable } from '../model/operation-table.js';
import { isKnown, type Kind } from './kinds.js';

/** One operation of a step on one stage. It recurs in every step and on every data-parallel rank. */
export interface Operation {
  readonly kind: Kind;
  /** Index into `stages`. */
  readonly stage: number;
  readonly sequence: number;
  /** As recorded in the template, the step that gives the order. */
  readonly start: number;
  readonly end: number;
  /** Model chunk, counted in the stage and in the model. 0 and the stage where the table has none. */
  readonly chunk: number;
  readonly globalChunk: number;
}

/**
 * A table as operations × lanes. A lane is one data-parallel rank in one step: lane = step index × ranks + rank index. All
 * lanes have the same operations.
 */
export interface Layout {
  readonly operations: readonly Operation[];
  readonly steps: readonly number[];
  readonly dpRanks: readonly number[];
  /** Stage numbers, ascending. */
  readonly stages: readonly number[];
  readonly lanes: number;
  /** Row of the table, indexed by operation × lanes + lane. */
  readonly rows: Int32Array;
}

const UNEVEN = {
  message: 'Steps lack operations or workers that most steps have.',
  consequence: 'They are left out.',
};
const UNKNOWN_KIND = {
  message: 'Operations of unknown kinds.',
  consequence: 'They are left out, and nothing waits for them.',
};
const OVERSIZED = {
  message: 'There are more than 1024 stages, or more than a million pairs of step and data-parallel rank.',
  consequence: 'A job with so many stages is not replayed. Of too many pairs the first million are.',
};
/** A larger table is damaged, not a job, and would take forever. */
const MAX_STAGES = 1024;
const MAX_LANES = 1 << 20;
const UNTIMED = {
  message: 'Operations without start or duration.',
  consequence: 'Steps with such operations are left out.',
};

/** Null when no step can be used. */
export function layOut(table: OperationTable): { layout: Layout | null; problems: readonly Problem[] } {
  const problems = new ProblemLog();
  const allLanes = lanesOf(table, problems);
  const dpRanks = sorted(allLanes.map((lane) => lane.dpRank));
  const template = chooseTemplate(allLanes);
  const stages = sorted((template?.rows ?? []).map((row) => table.stage[row]!));
  problems.add('oversized-job', OVERSIZED, null, Number(stages.length > MAX_STAGES));
  if (template === null || stages.length > MAX_STAGES) return { layout: null, problems: problems.list() };
  const sequence = sequencesOf(table);
  const keyOf = (row: number) => `${table.kind[row]}/${table.stage[row]}/${sequence[row]}`;
  const nodeOf = new Map(template.rows.map((row, node) => [keyOf(row), node]));
  const size = template.rows.length;

  const byStep = groupBy(allLanes, (lane) => lane.step);
  const steps: number[] = [];
  const filled: Int32Array[] = [];
  for (const step of sorted(byStep.keys())) {
    const lanes = byStep.get(step)!.sort((a, b) => a.dpRank - b.dpRank);
    const columns = lanes.flatMap((lane) => rowsByNode(lane, nodeOf, keyOf) ?? []);
    if (nodeOf.size < size || columns.length < dpRanks.length) continue;
    steps.push(step);
    for (const column of columns) filled.push(column);
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

function lanesOf(table: OperationTable, problems: ProblemLog): Lane[] {
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

/** The first lane of the most frequent size. Its step is complete and gives the order of operations. */
function chooseTemplate(lanes: readonly Lane[]): Lane | null {
  const sizes = new Map<number, number>();
  for (const { rows } of lanes) sizes.set(rows.length, (sizes.get(rows.length) ?? 0) + 1);
  const usual = [...sizes].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0]?.[0];
  const candidates = lanes.filter((lane) => lane.rows.length === usual);
  return candidates.sort((a, b) => a.step - b.step || a.dpRank - b.dpRank)[0] ?? null;
}

/** Rows of a lane, indexed by operation. Null: the lane does not have exactly the template's operations. */
function rowsByNode(
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

/** As recorded; counted in order of start where the table has none. */
function sequencesOf(table: OperationTable): Int32Array {
  if (table.sequence.every((s) => s >= 0)) return table.sequence;
  const counted = new Int32Array(table.rows);
  const next = new Map<string, number>();
  const order = Int32Array.from({ length: table.rows }, (_, row) => row);
  order.sort((a, b) => table.start[a]! - table.start[b]! || a - b);
  for (const row of order) {
    const key = `${table.step[row]}/${table.dpRank[row]}/${table.stage[row]}/${table.kind[row]}`;
    counted[row] = next.get(key) ?? 0;
    next.set(key, counted[row]! + 1);
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
  const chunk = Math.max(0, table.chunk[row]!);
  const globalChunk = table.globalChunk[row]!;
  return {
    kind: table.kinds[table.kind[row]!] as Kind,
    stage,
    sequence,
    start,
    end: start + Math.max(0, table.duration[row]!),
    chunk,
    globalChunk: globalChunk >= 0 ? globalChunk : chunk * stages.length + stage,
  };
}

const sorted = (values: Iterable<number>) => [...new Set(values)].sort((a, b) => a - b);
