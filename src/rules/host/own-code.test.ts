import { describe, expect, it } from 'vitest';
import { expectGain, fires, silence } from '../../../test/helpers/draw-run.js';
import { loggedView } from '../../../test/helpers/logged-view.js';
import { share } from '../../base/units.js';
import type { HostLine } from '../../diagnosis/ranks/host-lines.js';
import type { CapturedCpu, RunFacts } from '../../diagnosis/run-facts.js';
import { rule } from './own-code.js';

const view = loggedView({ compute: 6, idle_host: 4 });
const line = (source: string, part: number, ...calls: string[]): HostLine => ({
  file: 'train.py',
  line: 10 + Math.round(part * 100),
  function: 'main',
  source,
  share: share(part),
  samples: 100 * part,
  calls,
});
const STEP = line('loss.backward(); opt.step()', 0.4, 'torch._tensor.backward');
const CPU: CapturedCpu = {
  used: 1,
  queued: 0,
  threads: 1,
  affinity: null,
  threadQueued: 0,
  threadRan: 1,
  threadsBy: null,
  background: [],
  throttled: null,
};
const run = (
  hostLines: readonly HostLine[],
  threadRan = 1,
  bottleneck: RunFacts['verdict']['bottleneck'] = 'host',
) => ({
  hostLines,
  verdict: { bottleneck, confidence: 0.9 },
  captured: new Map([[0, { cores: null, loader: null, cpu: { ...CPU, threadRan } }]]),
});
const found = (id: string, given: ReturnType<typeof run>) =>
  fires(rule, view, { id, addresses: 'host', unit: 'ms/step', placed: false }, given);

describe('lines of the job outside the model', () => {
  it('that copy the weights are one finding, and an average in place leaves a fifth of it', () => {
    const copies = [
      line('old = copy.deepcopy(ema)', 0.3, 'copy.deepcopy'),
      line('ema = {k: old[k] * beta for k in old}', 0.2),
    ];
    const copied = found('weights-copied', run([STEP, ...copies]));
    const { fix, evidence } = copied;
    expect(fix!.code).toContain('get_ema_multi_avg_fn');
    expect(evidence[0]!.text).toMatch(
      /^stack samples: 5\.00 ms per step \(50%.*deepcopy\(ema\)\) and 1 more/,
    );
    expectGain(copied, 10 / (10 - 5 * 0.8));
  });

  it('that average the weights by hand are copies of them, however the average is written', () => {
    for (const source of [
      'shadow[k] = decay * shadow[k] + (1 - decay) * v.detach().clone()',
      'e.mul_(self.decay).add_(p, alpha=1 - self.decay)',
      'for e, p in zip(avg, live): e.lerp_(p, 1 - beta)',
      'e.data = e.data * d + p.data * (1.0 - d)',
    ])
      found('weights-copied', run([STEP, line(source, 0.3)]));
    for (const source of ['x = (1 - x) + y', 'mask = 1 - mask', 'rows = parse(text)'])
      found('own-code', run([STEP, line(source, 0.3)]));
  });

  it('that start processes in each step are named, also where the job waits for its input', () => {
    const source = 'with mp.Pool(2) as pool: rows = pool.map(augment, items)';
    for (const bottleneck of ['host', 'data'] as const) {
      const given = { ...run([line(source, 0.8), STEP], 0.1, bottleneck) };
      const expected = { id: 'processes-started', addresses: bottleneck, unit: 'ms/step', placed: false };
      expectGain(fires(rule, view, expected, given), 1 / (1 - 0.8 * 0.75));
      const asInput = { ...view, inputLine: `train.py:${given.hostLines[0]!.line} (${source})` };
      fires(rule, asInput, expected, given);
    }
  });

  it('that wait for a lock are named with the thread that runs meanwhile', () => {
    const waits = line('with lock: counts.update(x)', 0.6);
    expect(found('lock-wait', run([waits, STEP], 0.2)).title).toMatch(/waits for another thread/);
    // A thread that runs all the time does not wait there.
    found('own-code', run([waits, STEP], 0.9));
  });

  it('that sleep are named, unless the job waits for input: then they may be its input', () => {
    const sleeps = line('time.sleep(0.01)', 0.5);
    found('sleeps', run([sleeps, STEP], 0.3));
    expect(silence(rule, view, run([sleeps, STEP], 0.3, 'data'))).toMatch(/no line outside/);
  });

  it.each<[string, readonly HostLine[], RegExp]>([
    ['all lines train', [STEP, line('y = net(x)', 0.3)], /no line outside/],
    ['a framework trains', [line('trainer.fit(model)', 0.9, 'lightning.pytorch.trainer.fit')], /no line/],
    ['they take little', [STEP, line('print(loss)', 0.05)], /no line outside/],
    [
      'they wait for a loader',
      [line('x = next(it)', 0.8, 'torch.utils.data.dataloader.__next__')],
      /no line/,
    ],
    ['nothing was sampled', [], /not sampled/],
  ])('are no finding if %s', (_, lines, reason) => {
    expect(silence(rule, view, run(lines))).toMatch(reason);
  });
});
