import { describe, expect, it } from 'vitest';
import { DMON, type DrawnJob, type DrawnProcess, drawJob } from '../../../test/helpers/triage.js';
import type { StackSample } from '../../machine/stacks.js';
import { triage } from '../../report/triage-report.js';

const TORCH = '/venv/lib/python3.11/site-packages/torch';
const ALL_REDUCE = `all_reduce ${TORCH}/distributed/distributed_c10d.py:3000 < wrapper ${TORCH}/distributed/c10d_logger.py:83 < step /home/me/train.py:26`;
const LOADER = `augment /home/me/data.py:7 < __next__ ${TORCH}/utils/data/dataloader.py:733 < main /home/me/train.py:9`;
const FORWARD = `linear ${TORCH}/nn/functional.py:100 < main /home/me/train.py:12`;
const COMPILE = `trace ${TORCH}/_dynamo/convert_frame.py:5 < main /home/me/train.py:12`;

/** `f file:3 < g file:9`, the innermost first. `recv file:5>2` waits for rank 2. */
const frames = (text: string) =>
  text.split(' < ').map((part) => {
    const [, name, file, line, peer] = /^(.*) (\S+):(\d+)(?:>(\d+))?$/.exec(part)!;
    const frame = { name: name!, file: file!, line: Number(line) };
    return peer === undefined ? frame : { ...frame, peer: Number(peer) };
  });

function dumps(pid: number, stacks: readonly string[]): StackSample[] {
  return stacks.map((text) => ({
    pid,
    threads: [{ id: pid, name: 'MainThread', frames: frames(text) }],
  }));
}

const rank = (rank: number): DrawnProcess => ({
  pid: 100 + 100 * rank,
  gpu: false,
  waits: 'futex_do_wait',
  switches: 0,
  environment: { RANK: `${rank}` },
});
const judge = (job: DrawnJob, samples: readonly StackSample[]) => triage(drawJob(job), samples);
const six = (text: string) => Array<string>(6).fill(text);

describe('stacks of several ranks', () => {
  const processes = [0, 1, 2, 3].map(rank);

  it('name the rank that is missing in the collective', () => {
    const lost = 'save /home/me/checkpoint.py:15 < main /home/me/train.py:20';
    const samples = [0, 1, 2, 3].flatMap((r) => dumps(100 + 100 * r, six(r === 2 ? lost : ALL_REDUCE)));
    const report = judge({ processes }, samples);
    expect(report.verdict).toMatchObject({
      bottleneck: 'comms',
      cause: 'rank-missing',
      sentence:
        'Hung: 3 of 4 ranks wait in all_reduce; rank 2 (process 300) is in save (me/checkpoint.py:15)',
    });
    expect(report.next).toEqual(['py-spy dump --pid 300']);
    expect(report.stacks[2]).toMatchObject({ collective: null, stuck: true });
  });

  it('follow sends and receives to the rank that left their order, never to one that waits for it', () => {
    const message = (call: string, peer: number, line: number) =>
      `${call} ${TORCH}/distributed/distributed_c10d.py:2799>${peer} < pipeline_step /home/me/train.py:${line}`;
    // Stages 0 to 2 wait for gradients, 3 to send to stage 4, which receives from stage 5 too early.
    const stages = [
      ...[0, 1, 2].map((r) => message('recv', r + 1, 112)),
      message('send', 4, 111),
      message('recv', 5, 106),
      message('recv', 4, 108),
      message('recv', 5, 108),
    ];
    const processes = stages.map((_, r) => rank(r));
    const samples = stages.flatMap((text, r) => dumps(100 + 100 * r, six(text)));
    expect(judge({ processes }, samples).verdict.sentence).toBe(
      'Hung: rank 4 (process 500) is in recv with rank 5 at pipeline_step (me/train.py:106), where no other rank is; rank 5 waits for it in turn; the others wait for those',
    );
    // Two stages: either may be the one.
    const two = [message('recv', 1, 106), message('recv', 0, 108)];
    expect(
      judge(
        { processes: processes.slice(0, 2) },
        two.flatMap((text, r) => dumps(100 + 100 * r, six(text))),
      ).verdict.sentence,
    ).toBe(
      'Hung: ranks 0–1 wait for each other in a ring: rank 0 (process 100) waits for rank 1 in recv at pipeline_step (me/train.py:106); rank 1 (process 200) waits for rank 0 in recv at pipeline_step (me/train.py:108)',
    );
  });

  it('name the rank that is not in backward, where DDP waits for it', () => {
    const backward = `_engine_run_backward ${TORCH}/autograd/graph.py:869 < main /home/me/train.py:39`;
    const lost = `__getitem__ /home/me/data.py:18 < fetch ${TORCH}/utils/data/_utils/fetch.py:52 < main /home/me/train.py:36`;
    const samples = [0, 1, 2, 3].flatMap((r) => dumps(100 + 100 * r, six(r === 1 ? lost : backward)));
    expect(judge({ processes }, samples).verdict.sentence).toBe(
      'Hung: 3 of 4 ranks wait in main (me/train.py:39); rank 1 (process 200) is in __getitem__ (me/data.py:18)',
    );
  });

  it('accuse nobody if no process moves and none is in a call that shows whom it waits for', () => {
    const at = (line: number) => `exchange /home/me/train.py:${line}`;
    const samples = [7, 7, 9, 12].flatMap((line, r) => dumps(100 + 100 * r, six(at(line))));
    expect(judge({ processes }, samples).verdict.sentence).toBe(
      'Hung: no process moves: 2 processes in exchange (me/train.py:7); rank 2 (process 300) in exchange (me/train.py:9); rank 3 (process 400) in exchange (me/train.py:12)',
    );
  });

  it('do not call a job hung whose ranks move', () => {
    const moving = processes.map((p) => ({ ...p, switches: 50 }));
    const samples = [0, 1, 2, 3].flatMap((r) => dumps(100 + 100 * r, six(r === 2 ? FORWARD : ALL_REDUCE)));
    expect(judge({ processes: moving }, samples).verdict).toMatchObject({
      cause: 'rank-missing',
      sentence: expect.stringMatching(/^Waiting: 3 of 4/),
    });
  });

  it('name the rank that waits in another collective than the others', () => {
    const other = ALL_REDUCE.replace('all_reduce', 'barrier');
    const samples = [0, 1, 2, 3].flatMap((r) => dumps(100 + 100 * r, six(r === 0 ? other : ALL_REDUCE)));
    expect(judge({ processes }, samples).verdict).toMatchObject({
      cause: 'rank-missing',
      sentence:
        'Hung: 3 of 4 ranks wait in all_reduce at step (me/train.py:26); rank 0 (process 100) in barrier at step (me/train.py:26)',
    });
  });

  it('do not name the partner of that rank, which waits for it in another line', () => {
    const [other, partner] = [
      ALL_REDUCE.replace('all_reduce', 'all_gather'),
      ALL_REDUCE.replace(':26', ':20'),
    ];
    const many = [0, 1, 2, 3, 4].map(rank);
    const samples = many.flatMap((p, r) =>
      dumps(p.pid!, six(r === 0 ? other : r === 1 ? partner : ALL_REDUCE)),
    );
    const { sentence } = judge({ processes: many }, samples).verdict;
    expect(sentence).toMatch(/rank 0 \(process 100\) in all_gather/);
    expect(sentence).not.toContain('rank 1');
  });

  it('say that all wait in collectives, and in which, if none stands out', () => {
    const other = ALL_REDUCE.replace('all_reduce', 'barrier');
    const samples = [0, 1, 2, 3].flatMap((r) => dumps(100 + 100 * r, six(r < 2 ? other : ALL_REDUCE)));
    expect(judge({ processes }, samples).verdict).toMatchObject({
      cause: 'hung',
      sentence: 'Hung: every rank waits in a collective (barrier, all_reduce)',
    });
  });

  it('name a rank that is stopped, wherever it stopped', () => {
    const stopped = processes.map((p, r) => (r === 2 ? { ...p, state: 'T' } : p));
    const samples = [0, 1, 2, 3].flatMap((r) => dumps(100 + 100 * r, six(ALL_REDUCE)));
    expect(judge({ processes: stopped }, samples).verdict.sentence).toMatch(
      /^Hung: 3 of 4 ranks wait in all_reduce; rank 2 \(process 300\) is stopped by a signal/,
    );
  });
});

describe('stacks of ranks that spin in a synchronization, as with NCCL', () => {
  const spinning = (r: number): DrawnProcess => ({ ...rank(r), gpu: true, main: 1, switches: 5 });
  const item = 'main /home/me/train.py:31';
  const save = 'save /home/me/checkpoint.py:15 < main /home/me/train.py:20';
  const judged = (odd: string) =>
    judge(
      { processes: [0, 1, 2, 3].map(spinning), gpuText: DMON.gpuBound },
      [0, 1, 2, 3].flatMap((r) => dumps(100 + 100 * r, six(r === 1 ? odd : item))),
    ).verdict;

  it('name the one that is elsewhere', () => {
    expect(judged(save)).toMatchObject({
      bottleneck: 'comms',
      cause: 'rank-missing',
      confidence: 0.6,
      sentence:
        'Hung, or very slow: 3 of 4 ranks stay in main (me/train.py:31); rank 1 (process 200) is in save (me/checkpoint.py:15)',
    });
  });

  it('change nothing where all are in one place', () => {
    expect(judged(item).cause).toBe('gpu-bound');
  });
});

describe('stacks of one process', () => {
  const pegged: DrawnProcess = { pid: 100, main: 0.98 };
  const cause = (stacks: readonly string[], gpuText: string = DMON.dataCpu) =>
    judge({ processes: [pegged], gpuText }, dumps(100, stacks)).verdict;

  it('decide between loading, launching and compiling', () => {
    expect(cause(six(LOADER), DMON.launch)).toMatchObject({
      bottleneck: 'data',
      cause: 'data-cpu',
      confidence: 0.9,
    });
    expect(cause(six(FORWARD))).toMatchObject({ bottleneck: 'host', cause: 'launch' });
    expect(cause(six(COMPILE))).toMatchObject({ bottleneck: 'host', cause: 'compile' });
  });

  it('stacks distinguish an idle job that loads from one that hangs', () => {
    const idle: DrawnProcess = { pid: 100, gpu: false, main: 0.03, switches: 400 };
    const { verdict } = judge({ processes: [idle] }, dumps(100, six(LOADER)));
    expect(verdict).toMatchObject({ bottleneck: 'data', cause: 'data-io', confidence: 0.9 });
  });

  it('leave the verdict alone where they show neither', () => {
    const own = six('augment /home/me/data.py:7 < main /home/me/train.py:9');
    expect(cause(own)).toMatchObject({ bottleneck: 'data', cause: 'data-cpu', confidence: 0.8 });
  });

  it('stacks distinguish hung from slow: the same line, or busy in several', () => {
    const waiting: DrawnProcess = { pid: 100, gpu: false, waits: 'futex_do_wait', switches: 0 };
    const lock = 'acquire /home/me/train.py:3';
    expect(judge({ processes: [waiting] }, dumps(100, six(lock))).verdict).toMatchObject({
      cause: 'hung',
      sentence: 'Hung: process 100 is stuck in acquire (me/train.py:3)',
    });
    const moves = ['acquire /home/me/train.py:3', 'read /home/me/train.py:5', 'acquire /home/me/train.py:3'];
    expect(judge({ processes: [waiting] }, dumps(100, moves)).verdict.cause).toBe('idle');
    const wakes = { ...waiting, switches: 40 };
    expect(judge({ processes: [wakes] }, dumps(100, six(lock))).verdict.cause).toBe('idle');
  });

  it('do not advise to take stacks again', () => {
    const report = judge({ processes: [pegged], gpuText: DMON.dataCpu }, dumps(100, six(LOADER)));
    expect(report.next.join()).not.toContain('--stacks');
  });
});
