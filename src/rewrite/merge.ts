import type { Diagnosis } from '../answers/diagnosis.js';
import { InputError } from '../base/input-error.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import { matchedViews } from '../diagnosis/matched-views.js';
import type { StepRange } from '../facts/step-facts.js';
import type { ProgressSink } from '../ingest/pool.js';
import type { RankedInput } from '../ingest/ranks.js';
import { readFile } from '../ingest/read-file.js';
import { Trace } from '../model/trace.js';
import { ChromeFile, mustNotBeInput } from './chrome-file.js';
import { collectiveArrows } from './collective-arrows.js';
import { EventKeeper } from './keep-events.js';
import { MergedIds, RankWriter } from './rank-writer.js';
import { eachEvent } from './slim.js';
import { isRewritable, noteUnknown, partOf, planSlim, type SlimPlan } from './slim-plan.js';

export interface MergeOptions {
  readonly out: string;
  readonly force: boolean;
  readonly steps: StepRange | null;
  /** Categories to leave out, as the files name them. */
  readonly drop: readonly string[];
  readonly progress?: ProgressSink;
}

export interface Merged {
  readonly ranks: number;
  readonly events: number;
  /** Of JSON, before packing. */
  readonly bytes: number;
  /** Ranks whose clock could not be compared with that of the others. */
  readonly unaligned: readonly number[];
  readonly problems: readonly Problem[];
}

interface PlannedTrace {
  readonly plan: SlimPlan;
  /** ns since 1970, or since boot. */
  readonly baseNs: bigint;
}

/** Writes all ranks of a run as one trace, on one clock. Reads one trace at a time. */
export async function mergeRun(diagnosis: Diagnosis, options: MergeOptions): Promise<Merged> {
  const traces = diagnosis.members.filter((m) => isRewritable(m));
  if (traces.length === 0) throw new InputError('there are no PyTorch profiler traces to merge');
  mustNotBeInput(
    options.out,
    diagnosis.inputs.members.map((m) => m.file),
  );
  const views = matchedViews(diagnosis);
  const drop = new Set(options.drop);
  const arrowsOf = collectiveArrows(views, (step, onDevice) => isWritten(step, onDevice, options, drop));
  const problems = new ProblemLog();
  problems.addAll(diagnosis.inputs.problems);
  const categories = new Set<string>();
  const file = new ChromeFile(options.out);
  const ids = new MergedIds();
  const unaligned: number[] = [];
  let origin: bigint | null = null;
  options.progress?.start(
    traces.length,
    traces.reduce((n, m) => n + m.storedBytes, 0),
  );
  let read = 0;
  try {
    for (const [done, member] of traces.entries()) {
      const { rank } = member;
      const planned = await planTrace(member, options.steps, problems);
      if (!planned) continue;
      const { plan, baseNs } = planned;
      for (const name of plan.categories) categories.add(name);
      const clock = views.clockOf(rank);
      // Times count from a day before the first trace. Doubles hold some days to the ns, but not the time since 1970, and
      // Perfetto drops negative times, which a rank that started earlier would have.
      const dayBefore: bigint = clock.toRun(baseNs, 0)! - DAY_NS;
      const isFar = origin !== null && (dayBefore - origin > DAY_NS || origin - dayBefore > DAY_NS);
      if (clock.error === null && traces.length > 1) unaligned.push(rank);
      origin ??= dayBefore;
      const onRun = clock.fromOrigin(baseNs, isFar ? dayBefore : origin);
      const host = diagnosis.locations.ranks.get(rank)?.host ?? null;
      const { overlaps } = plan;
      const writer = new RankWriter({ rank, host, overlaps, arrows: arrowsOf(rank), onRun }, file, ids);
      const keeper = new EventKeeper(partOf(plan, plan.steps.length, drop), plan.index);
      const before = read;
      const result = await eachEvent(
        member.file,
        { ...plan, path: member.path },
        (event, at) => {
          if (keeper.keeps(event, at)) writer.add(event, at);
        },
        () => file.flush(),
        (stored) => options.progress?.update(before + stored, done),
      );
      // The file is named, because there are many.
      problems.addAll(result.problems.map((p) => ({ ...p, message: `${member.path}: ${p.message}` })));
      writer.finish();
      read += member.storedBytes;
    }
    const names = new Map([
      ['displayTimeUnit', '"ms"'],
      ['traceName', '"all ranks, by whyslow merge"'],
    ]);
    if (file.events === 0) throw nothingToMerge(problems);
    noteUnknown(drop, categories, problems);
    await file.finish(names);
  } finally {
    await file.abandon();
  }
  return {
    ranks: ids.nextRank(),
    events: file.events,
    bytes: file.bytes,
    unaligned,
    problems: problems.list(),
  };
}

const DAY_NS = 86_400_000_000_000n;

/** Arrows need all their slices. */
function isWritten(
  step: number | null,
  onDevice: boolean,
  { steps }: MergeOptions,
  drop: ReadonlySet<string>,
): boolean {
  if (onDevice ? drop.has('kernel') : drop.has('user_annotation') || drop.has('cpu_op')) return false;
  if (!steps) return true;
  return step !== null && step >= (steps.first ?? step) && step <= (steps.last ?? step);
}

function nothingToMerge(problems: ProblemLog): InputError {
  const leftOut = problems.list().find((p) => p.code === LEFT_OUT);
  return new InputError(leftOut ? `nothing to merge: ${leftOut.message}` : 'there are no events to merge');
}

const LEFT_OUT = 'rank-left-out';

/** Null: it is left out, and a problem says why. */
async function planTrace(
  member: RankedInput,
  steps: StepRange | null,
  problems: ProblemLog,
): Promise<PlannedTrace | null> {
  const { members } = await readFile(member.file, (read): PlannedTrace | string | null => {
    const { path, content } = read;
    if (path !== member.path) return null;
    if (content.of !== 'trace' || !isRewritable(read))
      return 'facts have no events; pass the trace that they were made of';
    try {
      const { baseNs, header } = content.trace;
      const plan = planSlim(new Trace(content.trace), read.kind, steps, false);
      return { plan, baseNs: baseNs + BigInt(header.baseTimeNanoseconds ?? '0') };
    } catch (error) {
      if (error instanceof InputError) return error.message;
      throw error;
    }
  });
  const found = members.find((m) => m !== null) ?? null;
  if (typeof found !== 'string') return found;
  problems.add(LEFT_OUT, { message: `${member.path}: ${found}`, consequence: 'left out' });
  return null;
}
