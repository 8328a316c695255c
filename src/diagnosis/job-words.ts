import { dirname } from 'node:path';
import { quoted, quotedCommand } from '../base/shell.js';
import { manifestOf } from '../ingest/member.js';
import type { RunInputs } from '../ingest/read-run.js';

/** The job in commands that advice gives: ready to paste where they are known, words that stand for them otherwise. */
export interface JobWords {
  /** Starts the job: `torchrun --nproc-per-node 2 train.py`. */
  readonly command: string;
  /** Where its measurements are. */
  readonly folder: string;
}

export const UNKNOWN_JOB: JobWords = { command: 'python train.py', folder: 'OUT' };

export function jobWords({ beside }: Pick<RunInputs, 'beside'>): JobWords {
  for (const member of beside) {
    const manifest = manifestOf(member);
    if (manifest?.of !== 'run') continue;
    return {
      command: manifest.launch ? quotedCommand(manifest.launch) : UNKNOWN_JOB.command,
      // Inside an archive (`a.tar!run.json`) there is no folder to name.
      folder: member.path.includes('!') ? UNKNOWN_JOB.folder : quoted(dirname(member.path)),
    };
  }
  return UNKNOWN_JOB;
}
