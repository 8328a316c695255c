import type { Part, RankRecords } from './step-records.js';

/**
 * When each step began: the start of the phase that most steps have, of several the first in a step, always the same
 * one. The device's clock where there is one: a host that runs ahead begins its first steps too fast. NaN unknown.
 */
export function anchorStarts(records: RankRecords): readonly number[] {
  const seen = records.phases.map(() => ({ steps: 0, sum: 0 }));
  for (const step of records.steps) {
    for (const [place, parts] of step.parts) {
      const start = firstStart(parts);
      if (Number.isNaN(start)) continue;
      seen[place]!.steps++;
      seen[place]!.sum += start;
    }
  }
  const known = [...seen.keys()].filter((place) => seen[place]!.steps > 0);
  const onDevice = known.filter((place) => !records.phases[place]!.onHost);
  const [anchor] = (onDevice.length > 0 ? onDevice : known).sort(
    // The name decides at last: the order of lines must not.
    (a, b) =>
      seen[b]!.steps - seen[a]!.steps ||
      seen[a]!.sum - seen[b]!.sum ||
      (records.phases[a]!.name < records.phases[b]!.name ? -1 : 1),
  );
  return records.steps.map((s) => (anchor === undefined ? Number.NaN : firstStart(s.parts.get(anchor))));
}

function firstStart(parts: readonly Part[] = []): number {
  let first = Number.NaN;
  for (const { start } of parts) if (!(start >= first)) first = Number.isNaN(start) ? first : start;
  return first;
}
