import { dirname } from 'node:path';
import { quoted, quotedCommand } from '../base/shell.js';
import { manifestOf } from '../ingest/member.js';
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

export function jobWords({ beside }: Pick<RunInputs, 'beside'>): JobWords {
  const processes = processesOf(beside.map(manifestOf));
  for (const member of beside) {
    const manifest = manifestOf(member);
    if (manifest?.of !== 'run') continue;
    return {
      command: manifest.launch ? quotedCommand(manifest.launch) : UNKNOWN_JOB.command,
      // Inside an archive (`a.tar!run.json`) there is no folder to name.
      folder: member.path.includes('!') ? UNKNOWN_JOB.folder : quoted(dirname(member.path)),
      processes,
    };
  }
  return { ...UNKNOWN_JOB, processes };
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
