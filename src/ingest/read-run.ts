import { stat } from 'node:fs/promises';
import { groupBy } from '../base/group-by.js';
import { InputError } from '../base/input-error.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import { eventsReader } from '../readers/events/descriptor.js';
import { factsReader } from '../readers/facts/descriptor.js';
import { kinetoReader } from '../readers/kineto/descriptor.js';
import { READERS } from '../readers/registry.js';
import { discoverFiles, type FoundFile } from '../sources/discover.js';
import {
  type Input,
  isRunInput,
  isUsable,
  type RankInput,
  type RunInput,
  refusesEmpty,
  whyNot,
} from './input.js';
import { type ReadOptions, readAll } from './pool.js';
import { assignRanks, type RankedInput } from './ranks.js';
import { UNKNOWN_KIND } from './read-member.js';
import type { FileResult, Want } from './task.js';

/** Everything that was found and read under the paths of a run. */
export interface RunInputs {
  readonly members: readonly RankedInput[];
  /** Manifests and telemetry. */
  readonly beside: readonly RunInput[];
  /** Files in searched directories that no reader recognizes. */
  readonly ignored: readonly string[];
  /** Problems of the run as a whole. Those of a file are in its member. */
  readonly problems: readonly Problem[];
  /** The runs that the files name and that have records, oldest first. Empty: no file names its run. */
  readonly runs: readonly FoundRun[];
  readonly storedBytes: number;
  readonly decodedBytes: number;
  readonly seconds: number;
}

export interface FoundRun {
  readonly id: string;
  readonly command: string | null;
  /** Nanoseconds since 1970. */
  readonly startedNs: number | null;
  readonly ranks: number;
  readonly isAnalyzed: boolean;
}

/** Throws InputError when there is nothing to read. */
export async function readInputs(
  paths: string | readonly string[],
  want: Want,
  options: ReadOptions = {},
): Promise<RunInputs> {
  const started = performance.now();
  const found = await discoverFiles(typeof paths === 'string' ? [paths] : paths);
  const files = await insteadOf(found.files, options.factsOf);
  const results = shown(await readAll(files, want, options), shownNames(options));
  const problems = new ProblemLog();
  problems.addAll(found.problems);
  const { usable, ignored } = sift(files, results, problems);
  if (usable.length === 0) throw nothingReadable(results);
  const { ranked, problems: rankProblems } = assignRanks(usable.filter((m) => !isRunInput(m)));
  problems.addAll(rankProblems);
  return {
    members: ranked,
    beside: usable.filter(isRunInput),
    ignored,
    problems: problems.list(),
    runs: [],
    storedBytes: results.reduce((n, r) => n + r.storedBytes, 0),
    decodedBytes: usable.reduce((n, m) => n + m.decodedBytes, 0),
    seconds: (performance.now() - started) / 1000,
  };
}

async function insteadOf(
  files: readonly FoundFile[],
  factsOf: ReadOptions['factsOf'],
): Promise<readonly FoundFile[]> {
  if (!factsOf?.size) return files;
  return Promise.all(
    files.map(async (file) => {
      const path = factsOf.get(file.path);
      return path === undefined ? file : { ...file, path, size: (await stat(path)).size };
    }),
  );
}

/** What to call files that were made of others. */
export const shownNames = ({ shownAs, factsOf }: ReadOptions): ReadOptions['shownAs'] =>
  factsOf ? new Map([...factsOf].map(([trace, facts]) => [facts, trace])) : shownAs;

function shown(results: readonly FileResult[], shownAs: ReadOptions['shownAs']): readonly FileResult[] {
  if (!shownAs) return results;
  const nameOf = (path: string) => shownAs.get(path) ?? path;
  return results.map((result) => ({
    ...result,
    path: nameOf(result.path),
    members: result.members.map((member) => ({ ...member, path: nameOf(member.path) })),
  }));
}

/** Messages between `whyslow capture` and a job. They are no input, and not worth a mention. */
const REQUEST_FILE = /(^|[\\/])control[\\/](request|plan|done)-[^\\/]*\.json$/;

/** A file that the user named must be readable. A file found in a directory may be anything. */
export function sift(files: readonly FoundFile[], results: readonly FileResult[], problems: ProblemLog) {
  const usable: (RankInput | RunInput)[] = [];
  const ignored: string[] = [];
  const unreadable: string[] = [];
  const refusals: Problem[] = [];
  results.forEach((result, i) => {
    const members = result.members.filter(isUsable);
    for (const member of members) usable.push(member);
    const refused = result.members.filter(isRefused);
    for (const problem of refused.flatMap(refusalsOf)) refusals.push(problem);
    const isWanted =
      files[i]!.explicit ||
      result.error !== null ||
      result.members.some((m) => isEmptyTrace(m) || isOther(m));
    if (members.length > 0 || !isWanted) problems.addAll(result.problems);
    else if (!refused.some(isFacts)) unreadable.push(whyUnreadable(result));
    const isOfNoUse = members.length === 0 && !isWanted && refused.length === 0;
    if (isOfNoUse && !REQUEST_FILE.test(result.path)) ignored.push(result.path);
  });
  problems.addNamed('unreadable-file', unreadable, 'left out');
  for (const [code, all] of groupBy(refusals, (r) => r.code)) {
    const messages = all.map((r) => r.message);
    problems.addNamed(code, messages, all[0]!.consequence);
  }
  return { usable, ignored };
}

/** With the name of the file, once. */
const whyUnreadable = (result: FileResult): string =>
  result.error?.includes(result.path) ? result.error : `${result.path} cannot be used: ${whyNot(result)}`;

/** Why it is refused, with its name: there may be others, refused for other reasons. */
function refusalsOf(member: Input): readonly Problem[] {
  const problems = isFacts(member) ? member.problems.slice(-1) : member.problems;
  return problems.map((p) => ({ ...p, message: `${member.path}: ${p.message.replace(/\.$/, '')}` }));
}

/** A facts file that is refused: its last problem says why, and what to do. */
const isFacts = ({ kind }: Input): boolean => kind === factsReader.id;

/** Found in a folder and named as the trace of a rank, but nothing is in it: a full disk, or a rank that was killed. */
const isEmptyTrace = ({ hints, decodedBytes, path }: Input): boolean =>
  decodedBytes === 0 && hints.rank !== null && /\.(?:json|pftrace)(?:\.(?:gz|zst))?$/i.test(path);

/** Taken for a format that can be read, until it was read: a Chrome trace of another program. */
const isOther = (member: Input): boolean =>
  member.of === 'nothing' && !isFacts(member) && READABLE.some((r) => r.id === member.kind);
const READABLE = READERS.filter((r) => !r.isAlwaysRefused);

/** Recognized, but of no use as it is, and the user can change that: a pickle, a packed database, facts of another version. */
const isRefused = ({ kind, identity }: Input): boolean => identity.events === 0 && refusesEmpty(kind);

export function nothingReadable(results: readonly FileResult[]): InputError {
  const first = results[0]!;
  if (results.length === 1 && first.error !== null) return new InputError(first.error);
  const path = first.path === '-' ? 'standard input' : first.path;
  const none = `none of the ${results.length} files can be read`;
  // Files of known formats that cannot be opened: their own reasons name them.
  if (results.every((r) => r.error !== null)) return new InputError(`${none}, e.g. ${first.error}`);
  const broken = first.members.find(isFacts)?.problems.at(-1);
  if (broken && results.every((r) => r.members.every(isFacts))) {
    const which = results.length === 1 ? `${path} cannot be read` : `${none}, e.g. ${path}`;
    return new InputError(`${which}: ${broken.message}; ${broken.consequence.replace(/^left out; /, '')}`);
  }
  const why =
    results.length === 1
      ? `${path} cannot be read: ${whyNot(first)}`
      : `${none}, e.g. ${path}: ${whyNot(first)}`;
  // The reason already names what to pass instead.
  const member = first.members[0];
  const kind = member?.kind ?? UNKNOWN_KIND;
  if (kind !== UNKNOWN_KIND && (isOther(member!) || !READABLE.some((r) => r.id === kind)))
    return new InputError(why);
  // What most people have comes first.
  const titles = [kinetoReader, eventsReader, ...READABLE].map((r) => `  ${r.title}`);
  return new InputError(why, ['Files that can be read:', ...new Set(titles)]);
}
