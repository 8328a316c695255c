import { type Share, share } from '../../base/units.js';
import { manifestOf } from '../../ingest/input.js';
import type { RunInputs } from '../../ingest/read-run.js';
import type { SampledLine, StackSamples } from '../../model/manifest.js';
import type { StackThread } from '../../model/stack-profile.js';

const MAX_LINES = 20;
const MAX_CALLS = 3;

/** The innermost line of the job in each stack, and the library function that it called. Capture samples the same way. */
function linesOf({ stacks }: StackThread): StackSamples {
  const lines = new Map<
    string,
    Omit<SampledLine, 'calls'> & { samples: number; calls: Map<string, number> }
  >();
  for (const { frames, samples } of stacks) {
    const at = frames.findIndex((f) => f.isOwn);
    const own = frames[at];
    const { file, line, function: name } = own ?? { file: '', line: 0, function: '' };
    const key = `${file}:${line}`;
    const known = lines.get(key) ?? { file, line, function: name, source: '', samples: 0, calls: new Map() };
    lines.set(key, known);
    known.samples += samples;
    const called = at > 0 ? frames[at - 1]!.function : '';
    if (called !== '') known.calls.set(called, (known.calls.get(called) ?? 0) + samples);
  }
  return {
    samples: stacks.reduce((n, s) => n + s.samples, 0),
    lines: [...lines.values()]
      .sort((a, b) => b.samples - a.samples)
      .slice(0, MAX_LINES)
      .map((line) => ({ ...line, calls: mostFrequent(line.calls) })),
    background: [],
  };
}

const mostFrequent = (calls: ReadonlyMap<string, number>) =>
  [...calls]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MAX_CALLS)
    .map(([name]) => name);

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
