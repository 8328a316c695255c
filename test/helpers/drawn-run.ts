import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { H200 } from './draw-run.js';
import { drawJson } from './draw-trace.js';

interface DrawnRank {
  readonly drawing: string;
  /** How far this rank's clock is ahead. */
  readonly clockUs?: number;
}

interface DrawnEvent {
  readonly name: string;
  readonly ts: number;
  readonly args: object;
}

/** One trace a rank, as files. Collectives name the group of all ranks and count up. */
export function writeDrawnRun(folder: string, ranks: readonly DrawnRank[]): void {
  mkdirSync(folder, { recursive: true });
  const all = ranks.map((_, rank) => rank);
  ranks.forEach(({ drawing, clockUs = 0 }, rank) => {
    const distributedInfo = { backend: 'nccl', rank, world_size: ranks.length };
    const document = JSON.parse(drawJson(drawing, { ...H200, distributedInfo })) as {
      traceEvents: DrawnEvent[];
    };
    let sequence = 0;
    const traceEvents = document.traceEvents.map((event) => ({
      ...event,
      ts: event.ts + clockUs,
      args: event.name.startsWith('nccl')
        ? {
            ...event.args,
            'Collective name': 'allreduce',
            'Process Group Name': '0',
            'Process Group Ranks': `[${all.join(', ')}]`,
            'Group size': ranks.length,
            'In msg nelems': 1000,
            'Out msg nelems': 1000,
            dtype: 'Float',
            Seq: sequence++,
          }
        : event.args,
    }));
    writeFileSync(join(folder, `rank${rank}.json`), JSON.stringify({ ...document, traceEvents }));
  });
}
