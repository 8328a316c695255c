import { describe, expect, it } from 'vitest';
import {
  analyze,
  analyzeOne,
  HEADER,
  ms,
  msByClass,
  noted,
  stepLines,
  steps,
} from '../../test/helpers/logs.js';
import { LAUNCH_NOTE } from './notes.js';

describe('files of lmms-engine: four fields', () => {
  const facts = analyzeOne(
    steps(0, 90, () => ['host_to_device 2', 'training_step 40', 'training_metrics 3'], 10),
  );

  it('waits outside training_step are added to the step', () => {
    expect(facts).toMatchObject({
      rank: 0,
      run: null,
      steps: 10,
      first: 0,
      last: 90,
      stepSource: 'training_step',
    });
    expect(ms(facts.step)).toBe(45);
    expect(msByClass(facts)).toEqual({ compute: 40, copy: 2, idle_sync: 3 });
  });

  it('notes that input was not timed and that launches look like computing', () => {
    expect(facts.stepIsWhole).toBe(false);
    expect(noted(facts)).toContain(LAUNCH_NOTE);
    expect(noted(facts)).toContain(
      'data_wait was not recorded → waiting for input, if any, is outside the step',
    );
    expect(noted(facts)).toMatch(/only the whole step was timed/);
  });

  it('sums the records of a step: accumulated gradients keep global_step', () => {
    const accumulated = analyzeOne(steps(0, 4, () => Array(4).fill('training_step 10')));
    expect(ms(accumulated.step)).toBe(40);
    expect(accumulated.phases).toMatchObject([
      { name: 'training_step', ns: 40e6, records: 20, clock: 'unknown', perStep: Array(5).fill(40e6) },
    ]);
  });
});

describe('training_step without start times', () => {
  it('holds data_wait when both fit', () => {
    const facts = analyzeOne(
      HEADER,
      steps(0, 9, () => ['data_wait 30 gpu', 'training_step 40 gpu']),
    );
    expect(facts).toMatchObject({ run: 'a', stepIsWhole: true });
    expect(msByClass(facts)).toEqual({ compute: 10, idle_data: 30 });
  });

  it('training_step without start times is a part of the step when they do not fit', () => {
    const facts = analyzeOne(
      HEADER,
      steps(0, 9, () => [
        'data_wait 30',
        'host_to_device 1',
        'forward 12',
        'backward 20',
        'training_step 40',
      ]),
    );
    expect(ms(facts.step)).toBe(71);
    expect(msByClass(facts)).toEqual({ compute: 32, copy: 1, idle_data: 30, idle_other: 8 });
    expect(noted(facts)).toMatch(/leaves out the waits/);
  });

  it('training_step without start times is a part of the step when long waits do not make it longer', () => {
    const beside = steps(0, 19, (n) => [`data_wait ${n % 4 === 0 ? 30 : 1}`, 'training_step 40']);
    expect(ms(analyzeOne(HEADER, beside).step)).toBeCloseTo(48.25);
    const held = steps(0, 19, (n) => [
      `data_wait ${n % 4 === 0 ? 30 : 1}`,
      `training_step ${n % 4 === 0 ? 40 : 11}`,
    ]);
    expect(ms(analyzeOne(HEADER, held).step)).toBeCloseTo(18.25);
  });

  it('a collective is where start times put it', () => {
    const facts = analyzeOne(
      HEADER,
      steps(0, 90, (n) => [`data_wait 20 +${n * 60} gpu`, `training_step 40 +${n * 60 + 20} gpu`], 10),
    );
    expect(ms(facts.step)).toBe(60);
    expect(msByClass(facts)).toEqual({ compute: 40, idle_data: 20 });
  });

  it('whether training_step is a part of the step follows from all steps, not only from those recorded one after the other', () => {
    // The machine becomes faster after 20 steps of 27 ms: 20 ms. A profiler window takes 2 s between them.
    const startOf = (n: number) => (n < 20 ? 27 * n : 540 + 2000 + 20 * (n - 20));
    const phases = (n: number) => [`training_step ${n < 20 ? 27 : 20} +${startOf(n)} gpu`];
    const sparse = [38, 44, 50, 67, 73, 89, 95].flatMap((n) => steps(n, n, phases));
    const facts = analyzeOne(HEADER, steps(0, 19, phases), sparse);
    expect(ms(facts.step)).toBe(20);
    expect(facts.steps).toBeGreaterThan(20);
    // What is recorded of a step here is a part of it: only the start times tell how long it takes.
    const part = (n: number) => [`forward 5 +${startOf(n)} gpu`, `training_step 15 +${startOf(n)} gpu`];
    const parts = [38, 44, 50, 67, 73, 89, 95].flatMap((n) => steps(n, n, part));
    expect(ms(analyzeOne(HEADER, steps(0, 19, part), parts).step)).toBe(20);
  });

  it('counts only the part of a host-timed wait that the device felt', () => {
    const hidden = steps(0, 19, (n) => [
      `data_wait ${n % 2 ? 20 : 1} host`,
      `training_step ${40 + (n % 3)} gpu`,
    ]);
    const facts = analyzeOne(HEADER, hidden);
    expect(facts.time.idle_data).toBeLessThan(1e6);
    expect(noted(facts)).toMatch(/steps grow by \d% of it/);
    const steady = analyzeOne(
      HEADER,
      steps(0, 19, () => ['data_wait 20 host', 'training_step 40 gpu']),
    );
    expect(msByClass(steady)).toEqual({ compute: 20, idle_data: 20 });
    expect(noted(steady)).toMatch(/the GPU may have worked meanwhile/);
  });

  it('sums micro-steps and counts nested phases once', () => {
    const facts = analyzeOne(
      HEADER,
      steps(0, 4, () => [
        ...[0, 1].flatMap((m) => [`data_wait 5 #${m} gpu`, `forward 4 #${m} gpu`, `backward 8 #${m} gpu`]),
        ...['optimizer 3 gpu', 'collective:all_reduce 6 gpu', 'training_step 40 gpu'],
      ]),
    );
    expect(ms(facts.step)).toBe(40);
    // 27 of the model, 10 of waits: 3 are left, too few for the collective to be outside backward.
    expect(msByClass(facts)).toEqual({ compute: 21, comms_transfer: 6, idle_data: 10, idle_other: 3 });
    expect(facts.phases.find((p) => p.name === 'forward')).toMatchObject({
      name: 'forward',
      ns: 8e6,
      records: 10,
      clock: 'gpu',
    });
  });

  it('a collective stays outside the phases of the model if it fits there', () => {
    const lines = steps(0, 4, () => [
      'forward 10',
      'backward 20',
      'collective:all_gather 8',
      'training_step 40',
    ]);
    expect(msByClass(analyzeOne(HEADER, lines))).toEqual({ compute: 30, comms_transfer: 8, idle_other: 2 });
  });

  it('counts a phase timed on both clocks once, on the device', () => {
    const lines = steps(0, 4, () => [
      'data_wait 9 host',
      'data_wait 1 gpu',
      'training_step 40 gpu',
      'training_step 41 host',
    ]);
    const facts = analyzeOne(HEADER, lines);
    expect(msByClass(facts)).toEqual({ compute: 39, idle_data: 1 });
  });
});

describe('without training_step', () => {
  it('sums phases, and leaves a cut step out', () => {
    const whole = steps(0, 19, () => ['data_wait 10', 'forward 10', 'backward 20', 'optimizer 2', 'loss 3']);
    const facts = analyzeOne(HEADER, whole, stepLines(20, 'data_wait 10', 'forward 10'));
    expect(facts).toMatchObject({ stepSource: 'sum-of-phases', steps: 20, last: 19 });
    expect(msByClass(facts)).toEqual({ compute: 32, idle_data: 10 });
  });

  it("does not guess what a user's own phases do", () => {
    const facts = analyzeOne(
      HEADER,
      steps(0, 4, () => ['a 10 gpu', 'b 5 host']),
    );
    expect(msByClass(facts)).toEqual({ idle_host: 5, idle_other: 10 });
    expect(noted(facts)).toContain('no phase of the model was recorded → computing is not known');
  });
});

describe('a job without GPU', () => {
  it('takes the host clock for computing', () => {
    const facts = analyzeOne(
      HEADER,
      steps(0, 9, () => ['data_wait 9 host', 'forward 10 host', 'backward 15 host', 'training_step 40 host']),
    );
    expect(msByClass(facts)).toEqual({ compute: 25, idle_data: 9, idle_host: 6 });
    expect(noted(facts)).toMatch(/correct only for a job without GPU/);
  });

  it('a host-timed step with device phases is not read as host-bound', () => {
    const facts = analyzeOne(
      HEADER,
      steps(0, 9, () => ['host_to_device 4 gpu', 'training_step 40 host']),
    );
    expect(msByClass(facts)).toEqual({ compute: 36, copy: 4 });
    expect(noted(facts)).toMatch(/what the GPU did is not known/);
  });
});

describe('a whole iteration every tenth step, as whyslow_capture writes it', () => {
  // Eight workers deliver in bursts: most steps take 2 ms, and every ninth one waits. 21 ms per step in all.
  const inBursts = (waits: (step: number) => number) =>
    analyzeOne(
      HEADER,
      steps(
        0,
        200,
        (step) => [
          `training_step ${2 + waits(step)} host +${21 * step}`,
          `data_wait ${1 + waits(step)} host +${21 * step}`,
        ],
        10,
      ),
    );

  it('keeps the time per step of the stretches between recorded steps, if those decide how long a step takes', () => {
    const bursty = inBursts((step) => (step === 90 ? 170 : 0));
    expect(ms(bursty.step)).toBe(21);
    expect(bursty.paces).toEqual(Array(20).fill(21e6));
    expect(inBursts(() => 19).paces).toEqual([]);
  });

  it('an iteration that is recorded every tenth step is divided by when phases ran', () => {
    const lines = steps(
      ...([10, 90] as const),
      (n) => [
        ...[
          `data_wait 4 +${n * 40} host`,
          `forward 10 +${n * 40 + 4} host`,
          `backward 15 +${n * 40 + 14} host`,
        ],
        // The end of backward, where nothing else is done.
        `collective:all_reduce 6 +${n * 40 + 23} host`,
        ...[`optimizer 3 +${n * 40 + 31} host`, `training_step 40 +${n * 40} host`],
      ],
      10,
    );
    const facts = analyzeOne(HEADER, lines);
    expect(facts).toMatchObject({ stepSource: 'training_step', steps: 9 });
    expect(facts.knowledge).toEqual({
      ...{ placed: true, allHost: true, modelTimed: true },
      ...{ hostPaced: null, copyingHost: null, inputLine: null },
      mayHide: Array.from({ length: 9 }, () => 9e6),
    });
    // 2 ms between backward and optimizer, 6 after it.
    const each = { compute: 22, comms_transfer: 6, idle_data: 4, idle_host: 8 };
    expect(msByClass(facts)).toEqual(each);
    for (const time of facts.timePerStep) expect(msByClass({ ...facts, time })).toEqual(each);
  });

  it('counts no more of a wait than the device felt', () => {
    // The host waits 20 ms for input and runs 18 ms ahead meanwhile.
    const lines = steps(
      ...([10, 90] as const),
      (n) => [
        ...[`data_wait 2 +${n * 40} gpu ^18 ~0.01`, `forward 13 +${n * 40 + 2} gpu ^0.01 ~8`],
        ...[`backward 25 +${n * 40 + 15} gpu ^8 ~18`, `training_step 40 +${n * 40} gpu ^18 ~18`],
      ],
      10,
    );
    const facts = analyzeOne(HEADER, lines);
    expect(msByClass(facts)).toEqual({ compute: 38, idle_data: 2 });
    expect(facts.knowledge.hostPaced).toBe(0);
    expect(noted(facts)).not.toContain(LAUNCH_NOTE);
  });

  it('an iteration that is recorded every tenth step is host time where the device has caught up at the end of its phases', () => {
    const lines = steps(
      ...([10, 90] as const),
      (n) => [
        ...[`forward 12 +${n * 40} gpu ^0.01 ~0.02`, `backward 20 +${n * 40 + 12} gpu ^0.02 ~0.02`],
        // No phase covers the time from 36 ms on, and the device waits for the host there too.
        ...[`optimizer 4 +${n * 40 + 32} gpu ^0.02 ~0.01`, `training_step 40 +${n * 40} gpu ^0.01 ~0.01`],
      ],
      10,
    );
    const facts = analyzeOne(HEADER, lines);
    expect(facts.time.idle_host / facts.step).toBeGreaterThan(0.99);
    expect(noted(facts)).toMatch(/nothing queued in 100% of the step → it was idle for an unknown part/);
  });

  it('an iteration that is recorded every tenth step is computing where the device is behind, in phases and between them', () => {
    const lines = steps(
      ...([10, 90] as const),
      (n) => [
        // The loss is read at the end of the step: no lag is left, and no time passes on the device.
        ...[`forward 10 +${n * 40} gpu ^0.01 ~6`, `backward 20 +${n * 40 + 10} gpu ^6 ~18`],
        ...[`optimizer 4 +${n * 40 + 36} gpu ^22 ~25`, `training_step 40 +${n * 40} gpu ^0.01 ~0.02`],
      ],
      10,
    );
    const facts = analyzeOne(HEADER, lines);
    // Clipping between backward and optimizer is in no phase.
    expect(msByClass(facts)).toEqual({ compute: 40 });
  });
});

describe('several runs and ranks', () => {
  it('gives all, the newest last', () => {
    const facts = analyze(
      steps(0, 4, () => ['training_step 40']),
      steps(0, 3, () => ['training_step 20']),
      '{"whyslow": 1, "run": "later", "rank": 0}',
      steps(0, 2, () => ['training_step 10', 'training_step 12 r1']),
    );
    expect(facts.map((f) => [f.run, f.rank, ms(f.step), f.steps])).toEqual([
      ...[
        [null, 0, 40, 5],
        [null, 0, 20, 4],
      ],
      ...[
        ['later', 0, 10, 3],
        ['later', 1, 12, 3],
      ],
    ]);
  });
});
