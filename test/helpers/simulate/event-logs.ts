import { clockOf, shown } from './clock.js';
import type { Phase } from './recording.js';
import type { SimulatedRun } from './simulate.js';

export interface SimulatedLog {
  readonly rank: number;
  readonly name: string;
  readonly text: string;
}

/** The same run as its ranks' own event logs: phases and collectives, no trace. */
export function toEventLogs(run: SimulatedRun): SimulatedLog[] {
  const { settings } = run.job;
  return run.files.map(({ rank }) => {
    const clock = clockOf(settings, rank);
    const anchor = shown(clock, 0);
    const id = `simulated-${settings.seed}`;
    const header = { whyslow: 1, run: id, rank, anchors: [{ wall_ns: Math.round(anchor * 1000) }] };
    const record = ({ name, step, micro, start, end, clock: timer }: Phase) => ({
      ...{ name, step, rank, duration_ms: round(shown(clock, end) - shown(clock, start)) },
      ...{ start_ms: round(shown(clock, start) - anchor), clock: timer },
      ...(micro === null ? {} : { micro }),
    });
    const { phases } = run.recordings[rank]!;
    const inOrder = [...phases].sort((a, b) => a.step - b.step || a.start - b.start);
    const lines = [header, ...inOrder.map(record)].map((line) => JSON.stringify(line));
    return { rank, name: `cuda_events_rank_${rank}.jsonl`, text: `${lines.join('\n')}\n` };
  });
}

/** µs to ms with three decimals. */
const round = (us: number) => Math.round(us) / 1000;
