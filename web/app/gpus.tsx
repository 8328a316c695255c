import { formatWholePercent, share } from '../../src/base/units.js';
import type { GpuRow, PageData } from '../../src/page/page-data.js';
import { type Column, DataTable } from './data-table.js';
import { Sparkline } from './sparkline.js';

const of = (value: number | null, unit: string, most: number | null) =>
  value === null ? '–' : `${Math.round(value)}${most === null ? '' : ` of ${Math.round(most)}`} ${unit}`;

const COLUMNS: readonly Column<GpuRow>[] = [
  { name: 'Rank', value: (g) => g.rank },
  { name: 'GPU', value: (g) => g.name },
  { name: 'Utilization', value: (g) => g.utilization, show: (g) => of(g.utilization, '%', null) },
  { name: 'Clock when busy', value: (g) => g.clock, show: (g) => of(g.clock, 'MHz', g.maxClock) },
  { name: 'Power when busy', value: (g) => g.power, show: (g) => of(g.power, 'W', g.powerLimit) },
  { name: 'Hottest', value: (g) => g.temperature, show: (g) => of(g.temperature, '°C', null) },
  {
    name: 'Clock held down',
    value: (g) => g.limited,
    show: (g) => (g.limited === null ? '–' : formatWholePercent(share(g.limited))),
  },
];

/** Late ranks and the one that sets the pace come first; more charts are not looked at. */
const DRAWN = 4;

const inWhole = (unit: string) => (low: number, high: number) =>
  `${Math.round(low)} to ${Math.round(high)} ${unit}`;

/** What nvidia-smi recorded during the job. */
export function Gpus({ page: { gpus, report, decisiveRank } }: { page: PageData }) {
  const late = new Set(report.stragglers.flatMap((s) => s.ranks));
  const isNamed = (g: GpuRow) => Number(late.has(g.rank) || g.rank === decisiveRank);
  if (gpus.length === 0) return null;
  return (
    <section aria-labelledby="gpus-title" id="gpus">
      <h2 id="gpus-title">The GPUs</h2>
      <DataTable
        caption="GPUs as nvidia-smi saw them"
        columns={COLUMNS.filter((c) => gpus.some((g) => c.value(g) !== null))}
        rows={gpus}
      />
      {gpus
        .filter((g) => g.series)
        .sort((a, b) => isNamed(b) - isNamed(a))
        .slice(0, DRAWN)
        .map((g) => (
          <div key={g.rank} class="sparklines">
            <span class="muted">rank {g.rank}</span>
            <Sparkline name="Utilization" values={g.series!.utilization} range={inWhole('%')} top={100} />
            <Sparkline name="Clock" values={g.series!.clock} range={inWhole('MHz')} top={g.maxClock ?? 0} />
            <Sparkline name="Power" values={g.series!.power} range={inWhole('W')} top={g.powerLimit ?? 0} />
          </div>
        ))}
      <p class="note">
        Utilization is the share of time in which any kernel ran, however small: it does not say that the GPU
        was well used.
      </p>
    </section>
  );
}
