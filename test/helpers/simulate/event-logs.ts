import { clockOf, shown } from './clock.js';
import type { Phase } from './recording.js';
import type { SimulatedRun } from './simulate.js';

export interface SimulatedLog {
  readonly rank: number;
  readonly name: string;
  readonly text: string;
}

export interface LogOptions {
  /**
   * `capture`: whyslow_capture's records on the device's clock, with training_step as the whole iteration. `host`: the same
   * on the host's clock, as on a job without GPU. `bare`: lmms-engine's three phases and four fields.
   */
  readonly layout?: 'capture' | 'host' | 'bare';
  /** Record every nth step; ranks may differ. */
  readonly every?: (rank: number) => number;
  /** The first recorded step. */
  readonly from?: number;
  /** Without records of collectives. */
  readonly withoutCollectives?: boolean;
}

/** Time the device spends on a mark. */
const MARK_US = 8;
/** lmms-engine's training_step is the model's part. */
const BARE = new Map([
  ['model', 'training_step'],
  ['host_to_device', 'host_to_device'],
  ['training_metrics', 'training_metrics'],
]);

/** The same run as its ranks' own event logs: phases and collectives, no trace. */
export function toEventLogs(run: SimulatedRun, options: LogOptions = {}): SimulatedLog[] {
  const { layout = 'capture', every = () => 1, from: first = 0, withoutCollectives = false } = options;
  const { settings } = run.job;
  return run.files.map(({ rank }) => {
    const clock = clockOf(settings, rank);
    const anchor = shown(clock, 0);
    const id = `simulated-${settings.seed}`;
    const header = { whyslow: 1, run: id, rank, anchors: [{ wall_ns: Math.round(anchor * 1000) }] };
    const counts = new Map<string, number>();
    const between = (from: number, to: number) => round(shown(clock, to) - shown(clock, from));
    const record = ({ name, step, micro, from, to }: Phase) => {
      const timer = layout === 'host' ? 'host' : 'device';
      const base = { name: BARE.get(name) ?? name, step, rank, duration_ms: between(from[timer], to[timer]) };
      if (layout === 'bare') return base;
      const turn = counts.get(`${step} ${name}`) ?? 0;
      counts.set(`${step} ${name}`, turn + 1);
      return {
        ...base,
        name,
        start_ms: round(shown(clock, from[timer]) - anchor),
        micro: micro ?? turn,
        ...(layout === 'host'
          ? { clock: 'host' }
          : {
              clock: 'gpu',
              host_ms: between(from.host, to.host),
              lag_ms: round(to.device - to.host + MARK_US),
            }),
      };
    };
    const isWritten = ({ name, step }: Phase) => {
      if (step < first || (step - first) % every(rank) !== 0) return false;
      if (layout === 'bare') return BARE.has(name);
      return name !== 'model' && name !== 'training_metrics' && !(withoutCollectives && isCollective(name));
    };
    const phases = run.recordings[rank]!.phases.filter(isWritten);
    const inOrder = phases.sort((a, b) => a.step - b.step || a.from.device - b.from.device);
    const lines = [...(layout === 'bare' ? [] : [header]), ...inOrder.map(record)];
    const text = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
    return { rank, name: `cuda_events_rank_${rank}.jsonl`, text };
  });
}

const isCollective = (name: string) => name.startsWith('collective:');

/** µs to ms with three decimals. */
const round = (us: number) => Math.round(us) / 1000;
