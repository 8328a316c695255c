import type { JobUsage } from './job-usage.js';
import { type Change, type GpuHost, type MachineCause, machineCause } from './machine-causes.js';
import type { Growth } from './memory-growth.js';

/** All machines of a job, as far as their telemetry is known. */
export class Machines {
  readonly jobs: JobUsage[] = [];
  readonly gpus: GpuHost[] = [];
  readonly hostOf = new Map<number, string>();

  /** What changed on the machines of these ranks, or on any if there are none. */
  explain(ranks: readonly number[], change: Change): MachineCause | null {
    const hosts = new Set(ranks.map((r) => this.hostOf.get(r)).filter((h) => h !== undefined));
    const isOf = ({ host }: { readonly host: string }) => hosts.size === 0 || hosts.has(host);
    const [jobs, gpus] = [this.jobs.filter(isOf), this.gpus.filter(isOf)];
    return machineCause(jobs, gpus, change);
  }

  /** The machine whose memory will be full first. */
  growth(begun: number): (Growth & { readonly host: string }) | null {
    const found = this.jobs.flatMap(({ memory, host }) => {
      const growth = memory.growth(begun);
      return growth ? [{ ...growth, host }] : [];
    });
    return found.sort((a, b) => a.hoursLeft - b.hoursLeft)[0] ?? null;
  }
}
