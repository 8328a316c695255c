import { describe, expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { found } from '../../base/check.js';
import { ns } from '../../base/units.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { Bottleneck } from '../../facts/causes.js';
import { type TimeClass, totals } from '../../facts/time-class.js';
import type { Doubt } from '../kit/claim.js';
import { sentenceOf } from '../kit/words.js';
import { captureNext } from './doubts.js';
import type { Shares } from './shares.js';
import { stepWords } from './words.js';

const drawn = drawView(
  steps(8, 1000, 'host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 0-10 #1\ngpu 7  nvjet_tst_256 20-990 #1'),
);
type Parts = Partial<Record<TimeClass, number>>;
type Changes = { facts?: object; divided?: object; time?: Parts; copies?: object; source?: 'log' };
const viewWith = ({
  facts = {},
  divided = {},
  time = {},
  copies = drawn.copies,
  source,
}: Changes): RankView =>
  ({
    ...drawn,
    ...(source ? { source } : {}),
    facts: { ...drawn.facts, ...facts },
    divided: { ...drawn.divided, ...divided },
    time: totals((c) => ns(time[c] ?? 0)),
    copies,
  }) as unknown as RankView;
const SHARES = { gpu: 0.11, data: 0.22, comms: 0.33, host: 0.44, other: 0 } as Shares;
type Named = Exclude<Bottleneck, 'unknown'>;
const said = (bottleneck: Named, changes: Changes = {}, { shares = SHARES } = {}) =>
  sentenceOf(stepWords(bottleneck, shares, viewWith(changes)));

/** What a sentence must say, not how: the words around it may change. */
describe('the sentence', () => {
  it.each<[Named, RegExp]>([
    ['gpu', /^GPU-bound.*11%/],
    ['compute', /^Compute-bound.*11%/],
    ['data', /^Data-bound.*22%/],
    ['comms', /^Comms-bound.*33%/],
    ['host', /^Host-bound.*44%/],
  ])('of %s has its share of the step', (bottleneck, words) => expect(said(bottleneck)).toMatch(words));

  it('says what is known of a prefetch queue that runs empty', () => {
    const queue = { taken: 4, delivered: 1.2, deliveredUnasked: 1.2 };
    const facts = { input: { ...drawn.facts.input, queue } };
    const shares = { ...SHARES, data: 0.01 } as Shares;
    expect(said('data', { facts }, { shares })).toMatch(/^Probably data-bound.* 1 batch .*used 4/);
    // Steps that wait already say more.
    expect(said('data', { facts })).toMatch(/^Data-bound.*22%/);
  });

  it('of phases says that they know less', () => {
    const phases = (hostPaced: number | null) => ({ divided: { phases: { hostPaced } } });
    const plain = said('gpu');
    expect(new Set([plain, said('gpu', phases(null)), said('gpu', phases(0))]).size).toBe(3);
    expect(said('gpu', phases(null))).toContain('event log');
    expect(said('compute', phases(null))).toContain('phases');
    expect(said('host', phases(0))).toContain('event log');
    expect(said('host', phases(null))).not.toContain('as far as the event log');
    expect(said('host', { ...phases(0), time: { idle_sync: 2, idle_host: 1 } })).not.toContain(
      'as far as the event log',
    );
    expect(said('host', { ...phases(0), time: { idle_sync: 1, idle_host: 1 } })).toContain(
      'as far as the event log',
    );
  });

  it('of a job without a GPU does not name one', () => {
    const onCpu = { facts: { hasGpuWork: false } };
    for (const bottleneck of ['data', 'host', 'compute'] as const)
      expect(said(bottleneck, onCpu)).not.toMatch(/\bGPU\b/);
    const fromPhases = { facts: { hasGpuWork: false }, divided: { phases: { hostPaced: 0 } } };
    expect(said('host', fromPhases)).not.toEqual(said('host', onCpu));
  });

  it('of input says what is waited for', () => {
    const input = (inMain: number, inWorkers: number) => ({ facts: { input: { inMain, inWorkers } } });
    for (const seen of [input(1, 0), input(0, 1)])
      expect(said('data', seen)).toContain('DataLoader.__next__');
    expect(said('data', input(0, 0))).not.toContain('DataLoader');
    expect(said('data', { ...input(1, 0), source: 'log' })).not.toContain('DataLoader');
    const copies = { toDevice: 2, toHost: 0 };
    expect(said('data', { ...input(1, 0), copies, time: { copy: 2, idle_data: 1 } })).toMatch(/cop/);
    expect(said('data', { ...input(1, 0), copies, time: { copy: 1, idle_data: 1 } })).toContain('DataLoader');
    // Copies to the host are reads.
    const reads = { toDevice: 0, toHost: 2 };
    expect(said('data', { ...input(1, 0), copies: reads, time: { copy: 2, idle_data: 1 } })).toContain(
      'DataLoader',
    );
  });

  it('of the host says what it does', () => {
    const host = (time: Parts) => said('host', { time });
    expect(host({ idle_compile: 3, idle_host: 1, idle_sync: 1 })).toMatch(/compil/);
    expect(host({ idle_compile: 1, idle_host: 2, idle_sync: 1 })).not.toMatch(/compil/);
    expect(host({ idle_sync: 2, idle_host: 1 })).toMatch(/mostly.*read/);
    expect(host({ idle_sync: 1, idle_host: 1 })).toMatch(/launch/);
    expect(host({ idle_sync: 1, idle_host: 5 })).not.toMatch(/mostly/);
  });

  it('the headline of a host-bound step separates copies to the host from waiting for it', () => {
    const reads = { copies: { toDevice: 0, toHost: 30 }, time: { copy: 30, idle_host: 10, idle_sync: 4 } };
    // 44% of the step; 30 of those 44 are copies.
    expect(said('host', reads)).toMatch(/30% .*copies to the host, 14% .*waiting/);
    const fewer = { ...reads, time: { copy: 9, idle_host: 10, idle_sync: 4 } };
    expect(said('host', fewer)).toMatch(/44% .*mostly to launch/);
  });

  it.each<[Named, Partial<Record<keyof Shares, number>>, RegExp]>([
    ['data', { gpu: 0.66, data: 0.2 }, /^Data-bound.*20%.*\. Computing takes 66%, but/],
    ['host', { gpu: 0.6, host: 0.3 }, /^Host-bound.*30%.*\. Computing takes 60%, but/],
    ['comms', { gpu: 0.5, comms: 0.4 }, /^Comms-bound.*40%.*\. Computing takes 50%, but.*hidden/],
    [
      'host',
      { gpu: 0.2, host: 0.35, other: 0.4 },
      /^Host-bound.*35%.*\. Another 40% of the step was not recorded/,
    ],
    ['gpu', { gpu: 0.4, other: 0.5 }, /^GPU-bound.*40%.*\. Another 50% of the step was not recorded/],
    ['host', { gpu: 0.3, host: 0.5, other: 0.2 }, /^Host-bound[^.]*$/],
    ['gpu', { gpu: 0.9, host: 0.1 }, /^GPU-bound[^.]*$/],
  ])('of %s says why it is not the largest part: %j', (bottleneck, parts, words) => {
    const shares = { gpu: 0, data: 0, comms: 0, host: 0, other: 0, onHost: false, ...parts } as Shares;
    expect(said(bottleneck, {}, { shares })).toMatch(words);
  });
});

describe('what to record next', () => {
  const next = (changes: Changes, doubts: Doubt[] = [], view: RankView | null = viewWith(changes)) =>
    captureNext(view, doubts).join('\n');
  const CPU = /ProfilerActivity\.CPU/;
  const STEP = /profiler\.step\(\)/;
  const MORE = /schedule\(/;

  it('is more steps where nothing else is missing', () => {
    expect(next({})).toMatch(MORE);
    expect(next({})).not.toMatch(CPU);
    expect(next({})).not.toMatch(STEP);
  });

  it('is everything where there is no view', () => {
    expect(next({}, [], null)).toMatch(CPU);
    expect(next({}, [], null)).toMatch(STEP);
  });

  it('is what the trace lacks', () => {
    expect(next({ facts: { hasHostEvents: false } })).toMatch(CPU);
    expect(next({ source: 'log' })).toMatch(CPU);
    expect(next({ facts: { steps: { ...drawn.facts.steps, source: 'window' } } })).toMatch(STEP);
    const count = (n: number) =>
      next({ facts: { hasHostEvents: false, steps: { ...drawn.facts.steps, count: n } } });
    expect(count(3)).toMatch(MORE);
    expect(count(4)).not.toMatch(MORE);
  });

  it('is what settles the doubts', () => {
    const doubt = (settledBy: string | null, more = {}): Doubt => ({
      id: 'one',
      text: '',
      settledBy,
      ...more,
    });
    expect(next({}, [doubt('do this'), doubt(null), doubt('do that')])).toBe('do this\ndo that');
    const lacking = { facts: { hasHostEvents: false } };
    expect(next(lacking, [doubt('do this')])).toMatch(/^do this\n/);
    expect(next(lacking, [doubt('this'), doubt('that', { comesFirst: true })])).toBe('that');
  });

  it('is the job without its own profiler, if that was left on', () => {
    const leftOn = { ...viewWith({ source: 'log' }), notes: found('note', 'profiler-left-on', 1, '', '') };
    expect(next({}, [], leftOn)).toMatch(/^run the job without its own profiler/);
  });
});
