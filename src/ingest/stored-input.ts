import { type CheckResult, found, inputProblem } from '../base/check.js';
import { InputError } from '../base/input-error.js';
import type { Position, Problem } from '../base/problem.js';
import { list, nullable, number, object, oneOf, type Shape, ShapeError, text, whole } from '../base/shape.js';
import { type StepRange, stepsOption } from '../facts/step-facts.js';
import type { FactsPart, FactsRecord } from '../readers/common/content.js';
import { FACTS_FORMAT } from '../readers/facts/format.js';
import { READERS } from '../readers/registry.js';
import { LAYOUTS, type NameHints } from '../sources/rank-name.js';
import { lighten } from '../traces/analyze-trace.js';
import {
  detailOf,
  detailShape,
  lightFactsShape,
  rangeShape,
  withDetail,
} from '../traces/stored/facts-shape.js';
import { summaryShape } from '../traces/stored/summary-shape.js';
import type { AnalyzeOptions } from '../traces/trace-facts.js';
import type { InputIdentity, RefusedInput, TraceInput } from './input.js';
import type { Read } from './read-member.js';

/** What is kept of a trace in a facts file: all that its member has, but for where it was. */
type StoredTrace = Omit<TraceInput, 'of' | 'file' | 'path' | 'isPart' | 'trace' | 'drawing' | 'bounded'> & {
  /** Which steps were asked for. */
  readonly steps: StepRange | null;
};

const problemFields = {
  code: text,
  count: whole(),
  message: text,
  consequence: text,
  first: nullable(object<Position>({ unit: oneOf(['byte', 'stored-byte', 'line', 'row']), at: number() })),
};

const storedShape: Shape<StoredTrace> = object<StoredTrace>({
  kind: oneOf(READERS.filter((r) => r.line.isTrace).map((r) => r.id)),
  hints: object<NameHints>({
    layout: oneOf(LAYOUTS),
    rank: nullable(whole()),
    step: nullable(whole()),
    coordinates: nullable(list(whole())),
    host: nullable(text),
  }),
  identity: object<InputIdentity>({ events: whole(), rank: nullable(whole()), window: text }),
  storedBytes: whole(),
  decodedBytes: whole(),
  encodings: list(text),
  problems: list(object<Problem>(problemFields)),
  checks: list(object<CheckResult>({ ...problemFields, severity: oneOf(['note', 'warning', 'severe']) })),
  summary: nullable(summaryShape),
  steps: nullable(rangeShape),
  facts: nullable(lightFactsShape),
});

/** The parts of a facts file: light facts, then the detail. */
export function partsOf(member: TraceInput, steps: StepRange | null): readonly unknown[] {
  const {
    of: _of,
    file: _f,
    path: _p,
    isPart: _i,
    trace: _t,
    drawing: _d,
    bounded: _b,
    facts,
    ...rest
  } = member;
  const core: StoredTrace = { ...rest, steps, facts: facts && lighten(facts) };
  return facts && !facts.light ? [core, detailOf(facts)] : [core];
}

/** The trace that facts were made of, as if it had just been read. Throws InputError if the facts are of other steps. */
export function inputFromFacts(
  member: Omit<Read, 'content'>,
  record: FactsRecord | null,
  options: AnalyzeOptions | null,
): TraceInput | RefusedInput {
  if (!record) return refused(member, []);
  try {
    const { steps, ...stored } = read(storedShape, record.core);
    if (options) mustBeOf(steps, options.steps, member.path);
    const detail = record.detail && stored.facts && read(detailShape, record.detail);
    const facts = stored.facts && detail ? withDetail(stored.facts, detail) : stored.facts;
    const lost = options && !options.light && facts?.light ? WITHOUT_DETAIL : [];
    return {
      ...stored,
      of: 'trace',
      file: member.file,
      path: member.path,
      trace: null,
      drawing: null,
      bounded: null,
      facts,
      problems: [...stored.problems, ...member.problems],
      checks: [...stored.checks, ...member.problems.map(inputProblem), ...lost],
    };
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    return refused(member, [brokenFacts(error)]);
  }
}

const read = <T>(shape: Shape<T>, part: FactsPart): T => shape(part.data, part);

function refused(member: Omit<Read, 'content'>, more: readonly Problem[]): RefusedInput {
  const problems = [...member.problems, ...more];
  const identity = { events: 0, rank: null, window: '' };
  return {
    ...member,
    of: 'nothing',
    looksLike: null,
    identity,
    problems,
    checks: problems.map(inputProblem),
  };
}

const brokenFacts = (error: ShapeError): Problem => ({
  code: 'broken-facts',
  count: 1,
  message: `the facts file is not what format ${FACTS_FORMAT} holds: ${error.message}`,
  consequence: 'left out; make it again with this whyslow: `whyslow facts TRACE -o DIR`',
  first: null,
});

const WITHOUT_DETAIL = found(
  'note',
  'facts-without-detail',
  1,
  'the detail of this trace did not fit into its facts file',
  'findings that a replay would price are missing for this rank; diagnose the trace itself to get them',
);

function mustBeOf(stored: StepRange | null, asked: StepRange | null, path: string): void {
  if (stored?.first === asked?.first && stored?.last === asked?.last) return;
  const named = (range: StepRange | null) =>
    range === null ? 'all steps' : `steps ${stepsOption(range)} only`;
  const advice = stored === null ? 'leave out --steps' : `add --steps ${stepsOption(stored)}`;
  throw new InputError(
    `${path} has facts of ${named(stored)}: ${advice}, or make facts of other steps from the traces`,
  );
}
