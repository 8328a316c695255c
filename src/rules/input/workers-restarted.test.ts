import { describe, expect, it } from 'vitest';
import { drawView, expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import { loaderRecord } from '../../../test/helpers/loader-record.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import type { CapturedLoader } from '../../diagnosis/run-facts.js';
import { rule } from './workers-restarted.js';

const NEXT = 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__';
/** Two steps of 40 ms of computing. The loader is exhausted, and 150 ms pass until the next one is asked. */
const RESTARTED = `
  host 1  ProfilerStep#1 0-151900 | ${NEXT} 0-1000 | ${NEXT} 150000-151000 | cudaLaunchKernel 151000-151020 #1
  host 1  ProfilerStep#2 151900-152200 | ${NEXT} 151900-152000 | cudaLaunchKernel 152000-152020 #2
  gpu 7   gemm 151030-191030 #1 | gemm 191030-231030 #2`;
/** The same, asked again after 1.5 ms. */
const PERSISTENT = `
  host 1  ProfilerStep#1 0-2900 | ${NEXT} 0-1000 | ${NEXT} 1500-1600 | cudaLaunchKernel 1600-1620 #1
  host 1  ProfilerStep#2 2900-80000 | ${NEXT} 2900-3000 | cudaLaunchKernel 3000-3020 #2
  host 1  cudaStreamSynchronize 3030-80000
  gpu 7   gemm 1630-41630 #1 | gemm 41630-79990 #2`;
/** 10 ms in a step of 800. */
const RARE = `
  host 1  ProfilerStep#1 0-800000 | ${NEXT} 0-1000 | ${NEXT} 10000-10100 | cudaLaunchKernel 10100-10120 #1
  host 1  cudaStreamSynchronize 10130-800000
  gpu 7   gemm 10130-799990 #1`;

const EXPECTED = { id: 'workers-restarted', addresses: 'data', unit: 'ms/step', placed: true } as const;

describe('workers started again', () => {
  it('prices three epochs without restarts: 240 ms of computing are left, and the first request', () => {
    const found = fires(rule, drawView(steps(3, 152200, RESTARTED)), EXPECTED);
    expectGain(found, (3 * 152.2 + (231.03 - 152.2)) / (240 + 1));
    expect(found.evidence[0]!.dur_ns).toBe(150e6);
  });

  describe('as capture counts it', () => {
    const view = loggedView({ idle_data: 40, compute: 10 });
    const run = (known: Partial<CapturedLoader>, steps = 128) => {
      const loader = loaderRecord({
        numWorkers: 2,
        batches: 4,
        startMs: 90,
        firstMs: 30,
        laterMs: 6,
        ...known,
      });
      return { captured: new Map([[0, { cores: null, loader, steps }]]) };
    };

    it('prices a start every four batches: 90 ms and a part of the longer wait for the first batch', () => {
      const found = fires(rule, view, { ...EXPECTED, placed: false }, run({ starts: 33, made: 33 }));
      // 32 of 33 starts in 128 steps.
      expectGain(found, 50 / (50 - (90 + 12) / 4));
      expect(found.title).toMatch(/new DataLoader/);
      expect(found.fix!.text).toMatch(/once, outside the loop.*less than 22\.5 ms/);
    });

    it('waiting for workers to end counts, unless they persist', () => {
      const ended = (persistentWorkers: boolean) =>
        fires(
          rule,
          view,
          { ...EXPECTED, placed: false },
          run({ starts: 33, made: 33, endMs: 20, persistentWorkers }),
        );
      expectGain(ended(false), 50 / (50 - (110 + 12) / 4));
      expectGain(ended(true), 50 / (50 - (90 + 12) / 4));
    });

    it('epochs of one DataLoader keep their workers', () => {
      const found = fires(rule, view, { ...EXPECTED, placed: false }, run({ starts: 33, made: 1 }));
      expect(found.title).toMatch(/every epoch/);
      expect(found.cost).toBe('knob');
    });

    it('training and validation are no restarts, and neither is a loader without workers', () => {
      for (const known of [
        { starts: 2, made: 2 },
        { starts: 33, made: 33, numWorkers: 0 },
      ])
        expect(silence(rule, view, run(known))).toMatch(/no start of workers was seen twice/);
    });
  });

  it.each([
    ['epochs follow each other', /without a gap/, steps(3, 80000, PERSISTENT)],
    ['no epoch ends', /no epoch ended/, steps(3, 80000, PERSISTENT.replace(`${NEXT} 0-1000 | `, ''))],
    ['restarts are a small part', /restarts are/, steps(3, 800000, RARE)],
    [
      'there are no workers',
      /no DataLoader with workers/,
      steps(3, 152200, RESTARTED.replaceAll('_Multi', '_')),
    ],
  ])('is silent when %s', (_, reason, drawing) => {
    expect(silence(rule, drawView(drawing))).toMatch(reason);
  });
});
