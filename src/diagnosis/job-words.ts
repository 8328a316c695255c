import { dirname } from 'node:path';
import { quoted, quotedCommand } from '../base/printable.js';
import { manifestOf, type RankInput } from '../ingest/input.js';
import type { RunInputs } from '../ingest/read-run.js';
import type { Manifest } from '../model/manifest.js';

/** The job in commands that advice gives: ready to paste where they are known, words that stand for them otherwise. */
export interface JobWords {
  /** Starts the job: `torchrun --nproc-per-node 2 train.py`. */
  readonly command: string;
  /** Where its measurements are. */
  readonly folder: string;
  /** Processes of ranks that have not ended, as far as known. */
  readonly processes: ReadonlyMap<number, { readonly pid: number; readonly host: string | null }>;
}

export const UNKNOWN_JOB: JobWords = { command: 'python train.py', folder: 'OUT', processes: new Map() };

/** Between the name of a run and what distinguishes it from another that the same command started. */
const CHANGED = '+';

type Inputs = Pick<RunInputs, 'beside' | 'runs'> & { readonly members: readonly Analyzed[] };
type Analyzed = Pick<RankInput, 'path'>;

/** Of the run that is analyzed. Where one command started several trainings, each has its own. */
export function jobWords({ members, beside, runs }: Inputs): JobWords {
  const found = (of: 'run' | 'rank') =>
    beside.flatMap((member) => {
      const manifest = manifestOf(member);
      return manifest?.of === of ? [{ path: member.path, launch: manifest.launch }] : [];
    });
  const [whole] = found('run');
  const ranks = found('rank');
  const own = ranks.find((rank) => rank.launch !== null)?.launch ?? null;
  const launch = isOneOfSeveral(runs) || !whole ? (own ?? whole?.launch) : whole.launch;
  return {
    command: launch ? quotedCommand(launch) : UNKNOWN_JOB.command,
    folder: whole
      ? folderOf(whole.path, 1)
      : ranks[0]
        ? folderOf(ranks[0].path, 2)
        : commonFolder(members.map((m) => m.path)),
    processes: processesOf(beside.map(manifestOf)),
  };
}

function isOneOfSeveral(runs: RunInputs['runs']): boolean {
  const nameOf = (id: string) => id.split(CHANGED, 1)[0];
  const analyzed = runs.find((run) => run.isAnalyzed);
  return analyzed !== undefined && runs.filter((run) => nameOf(run.id) === nameOf(analyzed.id)).length > 1;
}

/** Inside an archive (`a.tar!run.json`) and on standard input there is no folder to name. */
const isFile = (path: string) => !path.includes('!') && path !== '-';

/** `levels` above the file. */
function folderOf(path: string, levels: number): string {
  if (!isFile(path)) return UNKNOWN_JOB.folder;
  return quoted(Array.from({ length: levels }).reduce<string>((folder) => dirname(folder), path));
}

const EVENTS_FOLDER = 'cuda_event_profiler';

/** The folder that holds all files, or the archive that they are in. */
function commonFolder(members: readonly string[]): string {
  // d9d packs every trace into an archive of its own.
  const paths = [...new Set(members.map((path) => path.split('!', 1)[0]!))];
  const [first = ''] = paths;
  if (paths.length === 1 && first !== members[0]) return quoted(first);
  let folder = dirname(first);
  const holds = (path: string) =>
    folder === '.' ? !/^\/|^\.\.\//.test(path) : path.startsWith(`${folder}/`);
  while (!paths.every(holds) && dirname(folder) !== folder) folder = dirname(folder);
  // An address is no folder without its host, and a whole disk is none to search.
  const isKnown =
    paths.every((path) => isFile(path) && holds(path)) &&
    folder !== '/' &&
    folder.includes('://') === first.includes('://');
  // Logs of a job without manifests are one folder below its own.
  const own = folder.split('/').at(-1) === EVENTS_FOLDER ? dirname(folder) : folder;
  return isKnown && first !== '' ? quoted(own) : UNKNOWN_JOB.folder;
}

/** A name of a machine as it may stand in a command; anything else is left out. */
const HOST = /^[\w.-]{1,253}$/;

function processesOf(manifests: readonly (Manifest | null)[]): JobWords['processes'] {
  return new Map(
    manifests.flatMap((m) => {
      const hasEnded = m?.of === 'rank' && m.anchors.some((anchor) => anchor.at === 'end');
      if (m?.of !== 'rank' || m.rank === null || m.pid === null || hasEnded) return [];
      return [[m.rank, { pid: m.pid, host: m.host !== null && HOST.test(m.host) ? m.host : null }]] as const;
    }),
  );
}
