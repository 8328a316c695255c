import { type Share, share } from '../../base/units.js';
import { manifestOf } from '../../ingest/member.js';
import type { RunInputs } from '../../ingest/read-run.js';

/** A line of the job's own code and how much of the training thread's time it holds, with the libraries that it calls. */
export interface HostLine {
  readonly file: string;
  readonly line: number;
  readonly function: string;
  readonly source: string;
  readonly share: Share;
  readonly samples: number;
  /** Library functions that ran there, the most frequent first. */
  readonly calls: readonly string[];
}

/** With fewer samples the shares are guesses. */
const ENOUGH = 20;

/** The sampled lines of one rank, largest first. Empty: its stack was not sampled, or too rarely. */
export function hostLines({ beside }: Pick<RunInputs, 'beside'>, rank: number | null): readonly HostLine[] {
  const manifests = beside.map(manifestOf).filter((m) => m?.of === 'rank');
  const stacks = manifests.find((m) => m.rank === rank)?.stacks ?? null;
  if (!stacks || stacks.samples < ENOUGH) return [];
  return stacks.lines
    .filter((line) => line.file !== '')
    .map(({ file, line, function: name, source, samples, calls }) => ({
      file,
      line,
      function: name,
      source,
      share: share(samples / stacks.samples),
      samples,
      calls,
    }));
}
