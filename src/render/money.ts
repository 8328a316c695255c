import { formatCount, formatNumber } from '../base/units.js';
import type { Report } from '../report/report.js';

/** No currency: it is that of the price. */
export const amount = (value: number): string =>
  value < 100 ? value.toFixed(2) : formatNumber(Math.round(value));

const GOES_TO: Readonly<Partial<Record<Report['verdict']['bottleneck'], string>>> = {
  data: 'waiting for data',
  comms: 'waiting for other ranks and for the network',
  host: 'waiting for the host',
};

/** What the run costs, and what its GPUs draw. Empty: neither is known. */
export function moneyLines({ money, energy, verdict }: Report): string[] {
  const lines: string[] = [];
  if (money) {
    const { per_gpu_hour, gpus, per_day, bottleneck_per_day } = money;
    const lost =
      bottleneck_per_day === null
        ? ''
        : `; ${amount(bottleneck_per_day)} of it goes to ${GOES_TO[verdict.bottleneck] ?? 'the bottleneck'}`;
    lines.push(
      `at ${amount(per_gpu_hour)} per GPU-hour, ${formatCount(gpus, 'GPU')} cost ${amount(per_day)} per day${lost}`,
    );
  }
  if (energy) {
    const step =
      energy.joules_per_step === null
        ? ''
        : `, ${formatNumber(Math.round(energy.joules_per_step))} J per step`;
    lines.push(
      `power: ${formatNumber(Math.round(energy.watts))} W, ${energy.kwh_per_day.toFixed(1)} kWh per day${step}`,
    );
  }
  return lines;
}

/** ` saves 60 per day`; empty without a price. */
export function savedPerDay({ money }: Report, id: string): string {
  const found = money?.findings.find((f) => f.id === id);
  return found ? `saves ${amount(found.per_day)} per day` : '';
}

/** `costs 0.9 rank-hours per hour, 54.00 per day`; empty if nothing is lost. */
export function costOf({
  rank_hours_per_hour: lost,
  cost_per_day: money,
}: Report['incidents'][number]): string {
  if (lost === null || lost <= 0) return '';
  return `costs ${Number(lost.toPrecision(2))} rank-hours per hour${money === null ? '' : `, ${amount(money)} per day`}`;
}
