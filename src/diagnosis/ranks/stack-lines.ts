import type { SampledLine, StackSamples } from '../../model/manifest.js';
import type { StackThread } from '../../model/stack-profile.js';

const MAX_LINES = 20;
const MAX_CALLS = 3;

/** The innermost line of the job in each stack, and the library function that it called. Capture samples the same way. */
export function linesOf({ stacks }: StackThread): StackSamples {
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
  };
}

const mostFrequent = (calls: ReadonlyMap<string, number>) =>
  [...calls]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MAX_CALLS)
    .map(([name]) => name);
