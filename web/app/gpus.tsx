import { formatWholePercent, share } from '../../src/base/units.js';
import type { GpuRow, PageData } from '../../src/page/page-data.js';
import { type Column, DataTable } from './data-table.js';

const of = (value: number | null, unit: string, most: number | null) =>
  value === null ? '–' : `${Math.round(value)}${most === null ? '' : ` of ${Math.round(most)}`} ${unit}`;

const COLUMNS: readonly Column<GpuRow>[] = [
  { name: 'Rank', value: (g) => g.rank },
  { name: 'GPU', value: (g) => g.name },
  { name: 'Utilisation', value: (g) => g.utilisation, show: (g) => of(g.utilisation, '%', null) },
  { name: 'Clock when busy', value: (g) => g.clock, show: (g) => of(g.clock, 'MHz', g.maxClock) },
  { name: 'Power when busy', value: (g) => g.power, show: (g) => of(g.power, 'W', g.powerLimit) },
  { name: 'Hottest', value: (g) => g.temperature, show: (g) => of(g.temperature, '°C', null) },
  {
    name: 'Clock held down',
    value: (g) => g.limited,
    show: (g) => (g.limited === null ? '–' : formatWholePercent(share(g.limited))),
  },
];

/** What nvidia-smi recorded beside the job. */
export function Gpus({ page: { gpus } }: { page: PageData }) {
  if (gpus.length === 0) return null;
  return (
    <section aria-labelledby="gpus-title" id="gpus">
      <h2 id="gpus-title">The GPUs</h2>
      <DataTable
        caption="GPUs as nvidia-smi saw them"
        columns={COLUMNS.filter((c) => gpus.some((g) => c.value(g) !== null))}
        rows={gpus}
      />
      <p class="note">
        Utilisation is the share of time in which any kernel ran, however small: it does not say that the GPU
        was well used.
      </p>
    </section>
  );
}
