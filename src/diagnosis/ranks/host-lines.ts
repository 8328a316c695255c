import { type Share, share } from '../../base/units.js';
import { manifestOf } from '../../ingest/input.js';
import type { RunInputs } from '../../ingest/read-run.js';
import type { StackSamples } from '../../model/manifest.js';
import { linesOf } from './stack-lines.js';

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
  const stacks = manifests.find((m) => m.rank === rank)?.stacks ?? sampledFromOutside(beside, rank);
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

/** Samples of py-spy. A file that names no rank counts for all: usually there is only one. */
function sampledFromOutside(beside: RunInputs['beside'], rank: number | null): StackSamples | null {
  const files = beside.filter((m) => m.evidence.stacks);
  const own = files.filter((m) => rank === null || m.hints.rank === null || m.hints.rank === rank);
  const threads = own.flatMap((m) =>
    m.evidence.stacks!.flatMap((p) => (p.kind === 'samples' ? p.threads : [])),
  );
  const main = threads.find((t) => t.isMain && t.stacks.length > 0);
  return main ? linesOf(main) : null;
}
