import type { Diagnosis } from '../answers/diagnosis.js';
import type { Bottleneck } from '../facts/causes.js';
import type { TimeClass } from '../facts/time-class.js';
import type { Report, ReportEnergy, ReportMoney } from './report.js';

const HOURS = 24;

/** Time that goes to a bottleneck. The computing itself is no loss. */
const LOST: Readonly<Partial<Record<Bottleneck, readonly TimeClass[]>>> = {
  data: ['idle_data'],
  comms: ['comms_transfer', 'comms_wait', 'idle_comms'],
  host: ['idle_host', 'idle_sync', 'idle_compile', 'idle_other'],
};

/** The report with what all of it costs, at a price per GPU and hour. */
export function withPrice(report: Report, perGpuHour: number): Report {
  const gpus = report.many_ranks?.ranks ?? report.ranks.length;
  const perDay = perGpuHour * gpus * HOURS;
  const lost = LOST[report.verdict.bottleneck];
  const step = report.step.ms;
  const money: ReportMoney = {
    per_gpu_hour: perGpuHour,
    gpus,
    per_day: rounded(perDay),
    bottleneck_per_day:
      lost && step !== null ? rounded(perDay * lost.reduce((sum, c) => sum + report.time[c], 0)) : null,
    findings: report.findings.flatMap(({ id, saving_ms }) =>
      saving_ms !== null && step !== null && step > 0 && saving_ms > 0
        ? [{ id, per_day: rounded((perDay * Math.min(saving_ms, step)) / step) }]
        : [],
    ),
  };
  const incidents = report.incidents.map((incident) => ({
    ...incident,
    cost_per_day:
      incident.rank_hours_per_hour === null
        ? null
        : rounded(incident.rank_hours_per_hour * HOURS * perGpuHour),
  }));
  return { ...report, money, incidents };
}

const rounded = (amount: number) => Math.round(100 * amount) / 100;

/** From the recorded power of the GPU of every measured rank. */
export function energyOf({ locations, views, decisive }: Diagnosis): ReportEnergy | null {
  const ranks = new Set(views.map((v) => v.rank));
  const powers = [...ranks].map((rank) => locations.gpus.get(rank)?.power ?? null);
  if (powers.length === 0 || powers.includes(null)) return null;
  const watts = powers.reduce<number>((sum, power) => sum + power!, 0);
  const seconds = decisive ? decisive.step.whole / 1e9 : Number.NaN;
  return {
    watts: rounded(watts),
    kwh_per_day: rounded((watts * HOURS) / 1000),
    joules_per_step: Number.isFinite(seconds) ? rounded(watts * seconds) : null,
  };
}
