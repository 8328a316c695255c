import { largest, mean } from '../../base/statistics.js';
import type { InspectReport } from '../../report/inspect-report.js';
import { plural, printable } from './format.js';

/** What manifests and telemetry say of the run, a line each. */
export function besideLines({ inputs }: InspectReport): string[] {
  const runs = inputs.flatMap((i) => (i.manifest?.of === 'run' ? [i.manifest] : []));
  const mesh = runs.findLast((r) => r.mesh !== null)?.mesh ?? null;
  const gpus = inputs.flatMap((i) => i.gpus ?? []);
  const drawn = mesh?.map((a) => `${printable(a.name)} ${a.size}`).join(' × ');
  return [
    ...(drawn ? [`  mesh     ${drawn}`] : []),
    ...(gpus.length > 0 ? [`  gpus     ${gpusLine(gpus)}`] : []),
  ];
}

type Gpus = NonNullable<InspectReport['inputs'][number]['gpus']>;

function gpusLine(gpus: Gpus): string {
  const some = (pick: (gpu: Gpus[number]) => number | null) => gpus.map(pick).filter((v) => v !== null);
  const figure = (values: readonly number[], of: (values: readonly number[]) => number, unit: string) =>
    values.length > 0 ? [`${Math.round(of(values)).toLocaleString('en-US')}\u00a0${unit}`] : [];
  const parts = [
    ...figure(
      some((g) => g.utilisation),
      mean,
      '%\u00a0busy',
    ),
    ...figure(
      some((g) => g.clock),
      mean,
      'MHz',
    ),
    ...figure(
      some((g) => g.power),
      mean,
      'W',
    ),
    ...figure(
      some((g) => g.temperature),
      largest,
      '°C\u00a0at most',
    ),
  ];
  return `${plural(gpus.length, 'GPU')} in telemetry${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
}
