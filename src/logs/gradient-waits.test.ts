import { expect, it } from 'vitest';
import { analyzeOne, HEADER, steps } from '../../test/helpers/logs.js';

/** ms per step; steps of 40 ms on the host's clock. */
const mayHide = (...phases: readonly string[]) =>
  analyzeOne(
    HEADER,
    steps(1, 9, (n) =>
      [...phases, 'training_step 40 +0'].map((phase) => {
        const [name, ms, start] = phase.split(' ');
        return `${name} ${ms} +${Number(start) + n * 40} host`;
      }),
    ),
  ).knowledge.mayHide!.map((ns) => ns / 1e6);
const all = (ms: number) => Array.from({ length: 8 }, () => expect.closeTo(ms, 6));

it('communication may hide behind the backward pass up to the wait at its end', () => {
  expect(mayHide('forward 8 +0', 'backward 20 +8', 'collective:all_reduce 5 +23')).toEqual(all(15));
});

it('counts only the pass that sends gradients, of several', () => {
  expect(mayHide('backward 10 +5', 'backward 20 +18', 'collective:grad_sync 5.01 +33')).toEqual(all(15));
});

it.each([
  ['a collective after the pass', 'collective:all_reduce 5 +29'],
  ['a collective that the program calls during the pass', 'collective:all_gather 5 +15'],
  ['no collective', 'optimizer 2 +30'],
])('no communication may hide with %s', (_, other) => {
  expect(mayHide('backward 20 +8', other)).toEqual(all(0));
});
