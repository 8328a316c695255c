import type { Problem } from '../../../src/base/problem.js';
import { Trace } from '../../../src/model/trace.js';
import { readTrace } from '../read-trace.js';
import { clockOf, trueUs } from './clock.js';
import { BASE_US } from './draw.js';
import type { SimulatedFile, SimulatedRun } from './simulate.js';

/** A simulated file through the reader that users' files go through. */
export function readFile(file: SimulatedFile): { trace: Trace; problems: readonly Problem[] } {
  const { trace, problems } = readTrace(file.json);
  return { trace: new Trace(trace), problems };
}

/** A collective's kernel as the trace shows it, on the true clock. */
export interface SeenCollective {
  readonly rank: number;
  readonly kind: string;
  readonly group: string;
  readonly sequence: number;
  readonly elements: number;
  readonly peer: number | null;
  readonly startUs: number;
  readonly endUs: number;
}

export function seenCollectives(run: SimulatedRun): SeenCollective[] {
  return run.files.flatMap((file) => {
    const { trace } = readFile(file);
    const { collectives: c, ts, dur, baseNs } = trace.data;
    const clock = clockOf(run.job.settings, file.rank);
    const text = (id: number) => trace.strings.text(id);
    const base = Number(baseNs - BigInt(BASE_US) * 1000n) / 1000;
    const seen: SeenCollective[] = [];
    for (let i = 0; i < c.row.length; i++) {
      const row = c.row[i]!;
      if (!trace.name(row).startsWith('nccl')) continue;
      const peer = [c.sourceRank[i]!, c.destinationRank[i]!].find((r) => !Number.isNaN(r)) ?? null;
      seen.push({
        rank: file.rank,
        kind: text(c.collective[i]!),
        group: text(c.groupName[i]!),
        peer,
        sequence: c.sequence[i]!,
        elements: c.inElements[i]!,
        startUs: trueUs(clock, base + ts[row]! / 1000),
        endUs: trueUs(clock, base + (ts[row]! + dur[row]!) / 1000),
      });
    }
    return seen;
  });
}
