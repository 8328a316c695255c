import { printable } from '../../base/printable.js';
import { largest, mean } from '../../base/statistics.js';
import { formatCount, formatWhole } from '../../base/units.js';
import type { InspectReport } from '../../report/inspect-report.js';

/** What manifests and telemetry add, one line each. */
export function besideLines({ inputs }: InspectReport): string[] {
  const runs = inputs.flatMap((i) => (i.manifest?.of === 'run' ? [i.manifest] : []));
  const mesh = runs.findLast((r) => r.mesh !== null)?.mesh ?? null;
  const gpus = inputs.flatMap((i) => i.gpus ?? []);
  const axes = mesh?.map((a) => `${printable(a.name)} ${a.size}`).join(' × ');
  return [
    ...(axes ? [`  mesh     ${axes}`] : []),
    ...(gpus.length > 0 ? [`  gpus     ${gpusLine(gpus)}`] : []),
  ];
}

type Gpus = NonNullable<InspectReport['inputs'][number]['gpus']>;

function gpusLine(gpus: Gpus): string {
  const figures = [
    [gpus.map((g) => g.utilization), mean, '%\u00a0busy'],
    [gpus.map((g) => g.clock), mean, 'MHz'],
    [gpus.map((g) => g.power), mean, 'W'],
    [gpus.map((g) => g.temperature), largest, '°C\u00a0at most'],
  ] as const;
  const parts = figures.flatMap(([all, summary, unit]) => {
    const known = all.filter((v) => v !== null);
    return known.length > 0 ? [`${formatWhole(summary(known))}\u00a0${unit}`] : [];
  });
  return `${formatCount(gpus.length, 'GPU')} in telemetry${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
}
