import { describe, expect, it } from 'vitest';
import { drawView } from '../../../test/helpers/draw-run.js';
import { steps } from '../../../test/helpers/draw-trace.js';
import type { Bottleneck } from '../../facts/causes.js';
import { lasting } from '../../facts/step-facts.js';
import type { RankVerdict } from './judge.js';
import { noEvidence, stepsClaim } from './steps.js';

const view = drawView(
  steps(4, 1000, 'host 1  ProfilerStep#1 0-1000 | cudaLaunchKernel 0-10 #1\ngpu 7  nvjet_tst_256 20-990 #1'),
);
/** What kind of thing a doubt is does not matter here. */
const DOUBT = { id: 'one-doubt', text: 'one doubt', settledBy: null };
const verdict = (confidence: number, more: Partial<RankVerdict> = {}) =>
  ({
    bottleneck: 'data',
    second: 'host',
    confidence,
    shares: { gpu: 0.4, data: 0.4, comms: 0, host: 0.2, other: 0 },
    doubts: [DOUBT],
    ...more,
  }) as unknown as RankVerdict;
const SEVERE = { code: 'no-gpu-work', message: 'no GPU work' };
const judged = (confidence: number, more?: Partial<RankVerdict>) =>
  [{ view, verdict: verdict(confidence, more) }] as const;

describe('a decision', () => {
  it('names the bottleneck from a confidence of 0.5 on', () => {
    expect(stepsClaim(judged(0.5), null)).toMatchObject({
      bottleneck: 'data',
      second: 'host',
      confidence: 0.5,
      cause: 'input-wait',
    });
    expect(stepsClaim(judged(0.49), null)).toMatchObject({
      bottleneck: 'unknown',
      words: { label: 'Unknown', headline: 'one doubt (best guess: data)' },
      confidence: 0.49,
      cause: 'evidence-does-not-decide',
    });
  });

  it('is less certain by 0.25 where the input is in poor health, and says so first', () => {
    expect(stepsClaim(judged(0.9), SEVERE)).toMatchObject({ bottleneck: 'data', confidence: 0.65 });
    expect(stepsClaim(judged(0.74), SEVERE)).toMatchObject({ bottleneck: 'unknown', confidence: 0.49 });
    expect(stepsClaim(judged(0.2), SEVERE).confidence).toBe(0);
    expect(stepsClaim(judged(0.9), SEVERE).doubts).toHaveLength(2);
    expect(stepsClaim(judged(0.9), SEVERE).doubts![0]).toMatchObject({
      id: 'poor-health',
      text: 'no GPU work',
    });
    const apart = { code: 'disjoint-windows', message: 'recorded at different times' };
    expect(stepsClaim(judged(0.7), apart).doubts![0]!.id).toBe('several-runs');
    expect(stepsClaim(judged(0.9), null).doubts).toEqual([DOUBT]);
  });

  it('guesses nothing where the GPU was not recorded', () => {
    const doubts = [{ id: 'unseen-gpu', text: 'no GPU work was recorded', settledBy: null }];
    const claim = stepsClaim(judged(0.4, { doubts }), null);
    expect(claim).toMatchObject({ bottleneck: 'unknown', words: { headline: 'no GPU work was recorded' } });
  });

  it('is that of the rank with the longest step', () => {
    const slow = {
      view: { ...view, step: lasting(view.step, 2 * view.step.unprofiled) },
      verdict: verdict(0.8, { bottleneck: 'comms' }),
    };
    const [fast] = judged(0.9);
    for (const both of [
      [fast, slow],
      [slow, fast],
    ] as const)
      expect(stepsClaim(both, null)).toMatchObject({ bottleneck: 'comms', confidence: 0.8, view: slow.view });
  });

  it.each<[Bottleneck, string]>([
    ['gpu', 'gpu-busy'],
    ['compute', 'cpu-busy'],
    ['data', 'input-wait'],
    ['comms', 'exposed-communication'],
    ['host', 'host-overhead'],
  ])('for %s has the cause %s unless a finding knows better', (bottleneck, cause) => {
    expect(stepsClaim(judged(0.9, { bottleneck }), null).cause).toBe(cause);
  });

  it('is unknown where nothing was recorded', () => {
    expect(noEvidence(null)).toMatchObject({
      bottleneck: 'unknown',
      confidence: 0,
      cause: 'no-evidence',
      words: { label: 'Unknown', headline: 'nothing to analyze was recorded' },
    });
  });
});
