import { dirname } from 'node:path';
import { quoted, quotedCommand } from '../base/shell.js';
import { manifestOf, type RunMember } from '../ingest/member.js';
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

/** Between the name of a run and what tells it from another that the same command started. */
const CHANGED = '+';

/** Of the run that is analysed. Where one command started several trainings, each has its own. */
export function jobWords({ beside, runs }: Pick<RunInputs, 'beside' | 'runs'>): JobWords {
  const found = (of: 'run' | 'rank') =>
    beside.flatMap((member) => {
      const manifest = manifestOf(member);
      return manifest?.of === of ? [{ member, launch: manifest.launch }] : [];
    });
  const [whole] = found('run');
  const ranks = found('rank');
  const own = ranks.find((rank) => rank.launch !== null)?.launch ?? null;
  const launch = isOneOfSeveral(runs) || !whole ? (own ?? whole?.launch) : whole.launch;
  return {
    command: launch ? quotedCommand(launch) : UNKNOWN_JOB.command,
    folder: whole ? folderOf(whole.member, 1) : ranks[0] ? folderOf(ranks[0].member, 2) : UNKNOWN_JOB.folder,
    processes: processesOf(beside.map(manifestOf)),
  };
}

function isOneOfSeveral(runs: RunInputs['runs']): boolean {
  const nameOf = (id: string) => id.split(CHANGED, 1)[0];
  const analysed = runs.find((run) => run.isAnalysed);
  return analysed !== undefined && runs.filter((run) => nameOf(run.id) === nameOf(analysed.id)).length > 1;
}

/** `levels` above the file. Inside an archive (`a.tar!run.json`) there is no folder to name. */
function folderOf({ path }: RunMember, levels: number): string {
  if (path.includes('!')) return UNKNOWN_JOB.folder;
  return quoted(Array.from({ length: levels }).reduce<string>((folder) => dirname(folder), path));
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
