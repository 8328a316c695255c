import type { Part, RankRecords } from './step-records.js';

/**
 * When each step began: the start of one phase, the same in all steps. That is the phase which most steps have; of several
 * the first in the step; on the device's clock if possible, because a host that runs ahead begins its first steps too fast.
 * NaN: unknown.
 */
export function startsOfSteps(records: RankRecords): readonly number[] {
  const seen = records.phases.map(() => ({ steps: 0, sum: 0 }));
  for (const step of records.steps) {
    for (const [phase, parts] of step.parts) {
      const start = firstStart(parts);
      if (Number.isNaN(start)) continue;
      seen[phase]!.steps++;
      seen[phase]!.sum += start;
    }
  }
  const timed = [...seen.keys()].filter((phase) => seen[phase]!.steps > 0);
  const onDevice = timed.filter((phase) => !records.phases[phase]!.onHost);
  const [chosen] = (onDevice.length > 0 ? onDevice : timed).sort(
    // The name breaks ties: the order of lines must not matter.
    (a, b) =>
      seen[b]!.steps - seen[a]!.steps ||
      seen[a]!.sum - seen[b]!.sum ||
      (records.phases[a]!.name < records.phases[b]!.name ? -1 : 1),
  );
  return records.steps.map((s) => (chosen === undefined ? Number.NaN : firstStart(s.parts.get(chosen))));
}

/** The earliest known start; NaN: none is known. */
function firstStart(parts: readonly Part[] = []): number {
  let first = Number.NaN;
  for (const { start } of parts) if (!(start >= first) && !Number.isNaN(start)) first = start;
  return first;
}
