import { type Ms, ms } from '../../src/base/units.js';
import { profileOfReport } from '../../src/compare/report-profile.js';
import { NO_SETUP, type RunProfile, type Setup, type WorkTotal } from '../../src/compare/run-profile.js';

interface Drawn {
  readonly label?: string;
  readonly times: readonly number[];
  readonly time?: Readonly<Record<string, number>>;
  readonly findings?: readonly object[];
  readonly lines?: readonly object[];
  readonly ranks?: readonly object[];
  readonly kernels?: readonly WorkTotal[];
  readonly phases?: Readonly<Record<string, number>>;
  readonly setup?: Partial<Setup>;
  readonly step?: object;
}

/** A run with these step times. */
export function drawnRun(drawn: Drawn): RunProfile {
  const { label = 'run', times, findings = [], lines = [], ranks = [], phases = {} } = drawn;
  const mean = times.reduce((sum, t) => sum + t, 0) / times.length;
  const profile = profileOfReport(label, {
    schema: 'whyslow/report/1',
    verdict: { bottleneck: 'gpu' },
    step: { ms: mean, times_ms: times, source: 'events', count: times.length, ...drawn.step },
    time: drawn.time ?? { compute: 1 },
    findings,
    host_lines: lines,
    ranks,
  })!;
  return {
    ...profile,
    kernels: drawn.kernels ?? [],
    phases: Object.entries(phases).map(([name, time]) => ({ name, ms: time as Ms })),
    setup: { ...NO_SETUP, ...drawn.setup },
  };
}

export const work = (name: string, shape: string | null, count: number, time: number): WorkTotal => ({
  name,
  shape,
  count,
  ms: ms(time),
});

/** Steps around a mean that vary a little, always the same way. */
export const steady = (mean: number, count = 60): number[] =>
  Array.from({ length: count }, (_, i) => mean * (1 + 0.01 * Math.sin(7.3 * i)));
