import { describe, expect, it } from 'vitest';
import { pasteLines, TRIALS } from '../remedies/remedies.js';
import { concludeTrials, usesOf } from './conclude.js';
import { pairsOf } from './history.js';
import { planFixes } from './plan.js';
import { NOTHING_WRITTEN } from './protect/written.js';
import type { RankResult } from './rank-result.js';
import type { TurnEnd } from './run-turn.js';
import { Session, type SessionOptions } from './session.js';

const BASE = 100;

function result(stepMs: number, given: Partial<RankResult>): RankResult {
  // Steps that vary a little, the same in every turn.
  const noise = (i: number) => 1 + 0.002 * Math.sin(7 * i);
  return {
    rank: 0,
    worldSize: 1,
    why: 'steps',
    stepMs: Array.from({ length: 40 }, (_, i) => stepMs * noise(i)),
    losses: [1, 0.5],
    firstStepS: 4,
    memoryMb: 1000,
    framework: 'plain',
    device: 'H200',
    torch: '2.11',
    applied: {},
    refused: {},
    places: {},
    had: {},
    most: {},
    reached: [],
    denied: [],
    seededByJob: true,
    graphBreaks: {},
    ...given,
  };
}

const measured = (stepMs: number, given: Partial<RankResult> = {}): TurnEnd => ({
  kind: 'measured',
  ranks: [result(stepMs, given)],
  reason: null,
  seconds: 1,
  wrote: NOTHING_WRITTEN,
});

/** A job on a machine that gets 1% slower with every turn. `gains` by fix; together they multiply. */
async function session(
  gains: Readonly<Record<string, number | TurnEnd>>,
  only: readonly string[],
  until = 1e12,
) {
  const plan = planFixes([{ id: 'tf32-off', rule: 'T9', speedup: { low: 1.5, likely: 2, high: 2.2 } }], {
    only,
  });
  const taken: string[] = [];
  let drift = 1;
  const runTurn: SessionOptions['runTurn'] = async ({ fixes: changes }) => {
    const fixes = changes.map(({ fix }) => fix);
    drift *= 1.01;
    taken.push(fixes.join('+') || 'as it is');
    const failed = fixes.map((fix) => gains[fix]).find((gain) => typeof gain === 'object');
    if (failed) return failed;
    const gain = fixes.reduce((product, fix) => product * (gains[fix] as number), 1);
    const applied = Object.fromEntries(fixes.filter((f) => gains[f] !== 0).map((f) => [f, [`${f} on`]]));
    return measured((BASE * drift) / (gain || 1), { applied, refused: { 'gc-frozen': 'nothing there' } });
  };
  const options = {
    turn: {} as SessionOptions['turn'],
    scratch: '/x',
    logs: '/x',
    until,
    onTurn: () => {},
    runTurn,
    rounds: 3,
  };
  const made = new Session(options);
  await made.run(plan);
  const report = await concludeTrials(plan, made, {
    command: ['python', 'x.py'],
    started: new Date(0),
    seconds: 1,
    folder: '/x',
  });
  return { taken, report, byFix: new Map(report.trials.map((trial) => [trial.fix, trial])) };
}

const crashed: TurnEnd = {
  kind: 'crashed',
  ranks: [],
  reason: 'RuntimeError: no',
  seconds: 1,
  wrote: NOTHING_WRITTEN,
};

describe('turns', () => {
  it('alternate with the job as it is, so a drift cancels', async () => {
    const { taken, byFix } = await session({ tf32: 1.9, 'cudnn-benchmark': 1 }, ['tf32', 'cudnn-benchmark']);
    expect(taken.slice(0, 5)).toEqual(['as it is', 'tf32', 'as it is', 'cudnn-benchmark', 'as it is']);
    expect(taken.at(-1)).toBe('as it is');
    expect(byFix.get('tf32')!.measured!.likely).toBeCloseTo(1.9, 1);
    expect(byFix.get('tf32')).toMatchObject({ outcome: 'faster', predicted: { likely: 2 }, rule: 'T9' });
    expect(byFix.get('cudnn-benchmark')!.outcome).not.toBe('faster');
  });

  it('try together what helped, the better of two that exclude each other', async () => {
    const gains = { tf32: 1.5, compile: 1.2, 'compile-graphs': 1.6, 'gc-frozen': 1.2 };
    const { report } = await session(gains, Object.keys(gains));
    expect(report.best).toBe('tf32 + compile-graphs + gc-frozen');
    expect(report.trials.at(-1)!.measured!.likely).toBeCloseTo(1.5 * 1.6 * 1.2, 0);
    expect(report.paste).toEqual([
      'torch.set_float32_matmul_precision("high")',
      'model = torch.compile(model, mode="reduce-overhead")',
      'gc.collect(); gc.freeze()  # once, after the first steps',
      '# remove gc.collect() from the training loop, if it is there',
    ]);
  });

  it('go on after a turn that hung', async () => {
    const hung: TurnEnd = {
      kind: 'timed-out',
      ranks: [],
      reason: 'took longer than 9 s',
      seconds: 9,
      wrote: NOTHING_WRITTEN,
    };
    const { byFix, report } = await session({ tf32: hung }, ['tf32']);
    expect(byFix.get('tf32')).toMatchObject({ outcome: 'timed-out', reason: 'took longer than 9 s' });
    expect(report.complete).toBe(true);
  });

  it('go on after a crash, and do not repeat it', async () => {
    const { taken, byFix, report } = await session({ tf32: crashed, 'gc-frozen': 1.4 }, [
      'tf32',
      'gc-frozen',
    ]);
    expect(taken.filter((what) => what === 'tf32')).toHaveLength(1);
    expect(byFix.get('tf32')).toMatchObject({
      outcome: 'crashed',
      reason: 'RuntimeError: no',
      measured: null,
    });
    expect(report.best).toBe('gc-frozen');
  });

  it('do not count a fix that found nothing to change', async () => {
    const { taken, byFix } = await session({ 'gc-frozen': 0 }, ['gc-frozen']);
    expect(taken).toEqual(['as it is', 'gc-frozen']);
    expect(byFix.get('gc-frozen')).toMatchObject({
      outcome: 'not-applicable',
      reason: 'nothing there',
      measured: null,
    });
  });

  it('end with the budget', async () => {
    const { taken, report } = await session({ tf32: 2 }, ['tf32'], performance.now() - 1);
    expect(taken).toEqual([]);
    expect(report).toMatchObject({ complete: false, best: null, as_it_is: null });
    expect(report.trials).toMatchObject([{ fix: 'tf32', outcome: 'not-tried' }]);
  });
});

const applied = { 'loader-workers': ['num_workers 0 → 12, persistent_workers'] };
const ids = ['tf32', 'loader-workers', 'bf16-autocast'];

describe('numbers', () => {
  /** A job with sleeping reads: each worker makes it faster, up to six. */
  async function sleeping(advised: number | null, now = 0, batches = 1000) {
    const code = advised === null ? 'look' : `DataLoader(..., num_workers=${advised}, pin_memory=True)`;
    const speedup = { low: 1.5, likely: 2, high: 2.5 };
    const plan = planFixes([{ id: 'num-workers-zero', rule: 'T4', speedup, fix: { code } }], {});
    const taken: (number | null)[] = [];
    const made = new Session({
      turn: {} as SessionOptions['turn'],
      scratch: '/x',
      logs: '/x',
      until: 1e12,
      onTurn: () => {},
      rounds: 2,
      runTurn: async ({ fixes }) => {
        const workers = fixes[0]?.value ?? now;
        taken.push(fixes.length === 0 ? null : workers);
        const applied = fixes.length === 0 ? {} : { 'loader-workers': [`num_workers ${now} → ${workers}`] };
        return measured(BASE / Math.max(1, Math.min(workers, 6)), {
          applied,
          had: { 'loader-workers': now },
          most: { 'loader-workers': batches },
        });
      },
    });
    await made.run(plan);
    const spent = { command: ['python', 'x.py'], started: new Date(0), seconds: 1, folder: '/x' };
    return { taken, report: await concludeTrials(plan, made, spent) };
  }

  it('are searched from the advised one, which is tried first, and the best one is measured again', async () => {
    const { taken, report } = await sleeping(2);
    expect(taken).toEqual([null, 2, null, 4, 8, 16, null, 8, null]);
    expect(report.trials[0]).toMatchObject({ advised: 2, value: 8, outcome: 'faster', turns: 2 });
    expect(report.trials[0]!.measured!.likely).toBeCloseTo(6, 1);
    expect(
      report.trials[0]!.searched.map(({ value, measured }) => [value, measured!.likely.toFixed(1)]),
    ).toEqual([
      [2, '2.0'],
      [4, '4.0'],
      [8, '6.0'],
      [16, '6.0'],
    ]);
    expect(report.paste).toEqual(['DataLoader(..., num_workers=8, persistent_workers=True)']);
  });

  it('are twice what the job has if no finding advises one', async () => {
    const { taken } = await sleeping(null, 4);
    expect(taken.slice(0, 3)).toEqual([null, 8, null]);
    expect(taken.every((workers) => workers === null || workers > 4)).toBe(true);
  });

  it('stay below the number of batches of an epoch, which keeps no more workers busy', async () => {
    const { taken } = await sleeping(2, 0, 5);
    expect(taken).toEqual([null, 2, null, 4, 5, null, 5, null]);
  });

  it('are paired with predictions as advised, not as the search found them', async () => {
    const { report } = await sleeping(2);
    expect(pairsOf(report, '1')[0]!.measured.likely).toBeCloseTo(2, 1);
  });
});

describe('lines to paste for fixes that helped', () => {
  it('are plain code, with the number that was used', () => {
    expect(pasteLines(usesOf(['tf32', 'loader-workers'], { applied }), 'plain')).toEqual([
      'DataLoader(..., num_workers=12, persistent_workers=True)',
      'torch.set_float32_matmul_precision("high")',
    ]);
  });

  it('are one call of TrainingArguments with transformers', () => {
    expect(pasteLines(usesOf(ids, { applied }), 'transformers')).toEqual([
      'TrainingArguments(...,',
      '    tf32=True,',
      '    dataloader_num_workers=12,',
      '    dataloader_persistent_workers=True,',
      '    bf16=True)',
    ]);
  });

  it('are arguments of the Trainer with Lightning, if it has them', () => {
    expect(pasteLines(usesOf(ids, { applied }), 'lightning')).toEqual([
      '# in train_dataloader()',
      'DataLoader(..., num_workers=12, persistent_workers=True)',
      'Trainer(..., precision="bf16-mixed")',
      'torch.set_float32_matmul_precision("high")',
    ]);
  });

  it('exist for every fix', () => {
    for (const { id } of TRIALS)
      expect(pasteLines(usesOf([id], { applied: {} }), 'plain').length, id).toBeGreaterThan(0);
  });
});
