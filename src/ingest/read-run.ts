import { InputError } from '../base/input-error.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import { READERS } from '../readers/registry.js';
import { discoverFiles, type FoundFile } from '../sources/discover.js';
import { isRunMember, type RankMember, type RunMember, type TaskMember } from './member.js';
import { type ReadOptions, readAll } from './pool.js';
import { assignRanks, type RankedMember } from './ranks.js';
import type { TaskResult } from './task.js';

/** Everything found under the paths of a run, read. */
export interface RunInputs {
  readonly members: readonly RankedMember[];
  /** Manifests and telemetry. */
  readonly beside: readonly RunMember[];
  /** Files in searched directories that are nothing we read. */
  readonly ignored: readonly string[];
  /** Of the run as a whole; those of a file are with its member. */
  readonly problems: readonly Problem[];
  readonly storedBytes: number;
  readonly decodedBytes: number;
  readonly seconds: number;
}

/** Called once with what will be read, then as it goes. */
export interface ProgressSink {
  start(files: number, bytes: number): void;
  update(bytes: number, files: number): void;
}

export async function readInputs(
  paths: readonly string[],
  options: Omit<ReadOptions, 'onProgress'> & { readonly progress?: ProgressSink | undefined },
): Promise<RunInputs> {
  const started = performance.now();
  const { progress, ...rest } = options;
  const found = await discoverFiles(paths);
  progress?.start(
    found.files.length,
    found.files.reduce((n, f) => n + f.size, 0),
  );
  const onProgress = (bytes: number, files: number) => progress?.update(bytes, files);
  const results = await readAll(found.files, { ...rest, onProgress });
  const problems = new ProblemLog();
  problems.addAll(found.problems);
  const { known, ignored } = sift(found.files, results, problems);
  if (known.length === 0) throw new InputError(nothingReadable(found.files, results));
  const { ranked, problems: rankProblems } = assignRanks(known.filter((m) => !isRunMember(m)));
  problems.addAll(rankProblems);
  return {
    members: ranked,
    beside: known.filter(isRunMember),
    ignored,
    problems: problems.list(),
    storedBytes: results.reduce((n, r) => n + r.storedBytes, 0),
    decodedBytes: known.reduce((n, m) => n + m.decodedBytes, 0),
    seconds: (performance.now() - started) / 1000,
  };
}

/** What `whyslow capture` and a job tell each other: ours, and no input. */
const REQUEST_FILE = /(^|[\\/])control[\\/](request|plan|done)-[^\\/]*\.json$/;

/** A file the user named must be readable; one that merely lies in a directory may be anything. */
function sift(files: readonly FoundFile[], results: readonly TaskResult[], problems: ProblemLog) {
  const known: (RankMember | RunMember)[] = [];
  const ignored: string[] = [];
  const unusable: string[] = [];
  results.forEach((result, i) => {
    problems.addAll(result.problems);
    const members = result.members.filter(isUsable);
    known.push(...members);
    if (members.length > 0) return;
    if (!files[i]!.explicit && result.error === null) {
      if (!REQUEST_FILE.test(result.path)) ignored.push(result.path);
      return;
    }
    unusable.push(`${result.path} cannot be used: ${whyNot(result)}`);
  });
  problems.addNamed('unreadable-file', unusable, 'left out');
  return { known, ignored };
}

/** A trace without a single event, and a log without a record, are no input. */
function isUsable(member: TaskMember): member is RankMember | RunMember {
  if (member.kind === 'manifest') return member.manifest !== null;
  return member.kind !== 'unknown' && member.identity.events > 0;
}

function whyNot(result: TaskResult): string {
  if (result.error !== null) return result.error;
  const member = result.members[0];
  if (!member) return 'the archive has no files in it';
  if (member.kind === 'unknown' && member.looksLike) return member.looksLike;
  if (member.problems.length > 0) return member.problems.map((p) => p.message).join('; ');
  return 'it has no events';
}

function nothingReadable(files: readonly FoundFile[], results: readonly TaskResult[]): string {
  const tried = `Tried: ${READERS.map((r) => r.title).join('; ')}.`;
  const errors = results.map((r) => r.error).filter((e): e is string => e !== null);
  if (results.length === 1) {
    if (errors.length === 1) return errors[0]!;
    return `${shown(files[0]!.path)} is nothing whyslow can read: ${whyNot(results[0]!)}. ${tried}`;
  }
  const example = `${shown(results[0]!.path)}: ${whyNot(results[0]!)}`;
  return `none of the ${results.length} files is anything whyslow can read, e.g. ${example}. ${tried}`;
}

const shown = (path: string) => (path === '-' ? 'standard input' : path);
