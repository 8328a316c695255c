import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import {
  type CollectiveGroup,
  type CollectiveKind,
  Kind,
  type RankCollectives,
} from '../../src/facts/rank-collectives.js';
import { Trace } from '../../src/model/trace.js';
import type { MatchInput } from '../../src/run/collectives/matched.js';
import { type ExtractOptions, extractCollectives } from '../../src/traces/collectives/extract.js';
import { classifyNames } from '../../src/traces/kernels/classify.js';
import { orderGpuWork } from '../../src/traces/timeline/gpu-work.js';
import { findHostSpans } from '../../src/traces/timeline/host-spans.js';
import { findStepTimes } from '../../src/traces/timeline/step-times.js';
import { readTrace } from './read-trace.js';

/** For the tests of this folder. */
export function collectivesOf(trace: Trace, options: ExtractOptions = {}): RankCollectives | null {
  const work = orderGpuWork(trace);
  const host = findHostSpans(trace, work);
  const times = findStepTimes(trace, work, host, null);
  return extractCollectives(trace, work, classifyNames(trace), times, options);
}

export function readRank(path: string): MatchInput {
  const trace = new Trace(readTrace(gunzipSync(readFileSync(path))).trace);
  return { rank: trace.data.header.distributed?.rank ?? 0, collectives: collectivesOf(trace)! };
}

/** An entry as tests write it. What is missing is unknown. */
export interface Drawn {
  readonly start: number;
  readonly end: number;
  readonly kind?: CollectiveKind;
  readonly group?: number;
  readonly sequence?: number;
  readonly peer?: number;
  readonly bytes?: number;
  readonly dtype?: string;
  readonly step?: number;
  readonly exposed?: number;
}

export const groupOf = (ranks: readonly number[], name = '0'): CollectiveGroup => ({
  key: `ranks ${ranks.join()}`,
  name,
  description: '',
  size: ranks.length,
  ranks,
  named: true,
});

/** Columns from entries. Steps have the numbers that entries give, unless `more` has others. */
export function columns(
  entries: readonly Drawn[],
  groups: readonly CollectiveGroup[],
  more: Partial<RankCollectives> = {},
): RankCollectives {
  const dtypes = ['', ...new Set(entries.map((e) => e.dtype ?? '').filter((d) => d !== ''))];
  const numbers = [...new Set(entries.flatMap((e) => (e.step === undefined ? [] : [e.step])))];
  const steps = more.steps ?? numbers.sort((a, b) => a - b);
  const of = (get: (e: Drawn) => number | undefined, none: number) => entries.map((e) => get(e) ?? none);
  return {
    source: 'trace',
    baseNs: 0n,
    timed: true,
    length: entries.length,
    groups,
    dtypes,
    leftOut: 0,
    numbered: steps.length > 0,
    profilerStart: false,
    group: Uint16Array.from(of((e) => e.group, 0)),
    kind: Uint8Array.from(entries, (e) => Kind[e.kind ?? 'all_reduce']),
    sequence: Float64Array.from(of((e) => e.sequence, Number.NaN)),
    peer: Int32Array.from(of((e) => e.peer, -1)),
    bytes: Float64Array.from(of((e) => e.bytes, Number.NaN)),
    dtype: Uint8Array.from(entries, (e) => dtypes.indexOf(e.dtype ?? '')),
    start: Float64Array.from(entries, (e) => e.start),
    end: Float64Array.from(entries, (e) => e.end),
    onDevice: new Uint8Array(entries.length).fill(1),
    step: Int32Array.from(entries, (e) => (e.step === undefined ? -1 : steps.indexOf(e.step))),
    exposed: Float64Array.from(entries, (e) => e.exposed ?? e.end - e.start),
    ...more,
    steps,
  };
}

export const rank = (number: number, collectives: RankCollectives): MatchInput => ({
  rank: number,
  collectives,
});

/** Members of every instance as `rank:entry`, to compare whole matchings. */
export function membersOf(
  matched: ReturnType<typeof import('../../src/run/collectives/match.js').matchCollectives>,
): string[] {
  return Array.from({ length: matched.length }, (_, i) => {
    const members: string[] = [];
    for (let m = matched.memberStart[i]!; m < matched.memberStart[i + 1]!; m++)
      members.push(`${matched.ranks[matched.memberRank[m]!]}:${matched.memberEntry[m]}`);
    return members.join(' ');
  });
}
