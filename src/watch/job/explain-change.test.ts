import { expect, it } from 'vitest';
import type { Machines } from '../machine/machines.js';
import { type Explanation, withMachines } from './explain-change.js';

const moreWork: Explanation = {
  cause: 'compute',
  ranks: [],
  evidence: ['forward'],
  isMoreWork: true,
  grew: 40,
};
const machinesThat = (cause: string) =>
  ({ explain: () => ({ cause, evidence: 'shown' }) }) as unknown as Machines;
const change = { begun: 0, onset: 1, detected: 2, times: 1.4 };

it('a clock of a GPU that fell looks like more work per step, and is not; a busy machine does not look like it', () => {
  expect(withMachines(moreWork, machinesThat('gpu-clock'), change)).toEqual({
    ...moreWork,
    cause: 'gpu-clock',
    evidence: ['shown', 'forward'],
    isMoreWork: false,
  });
  expect(withMachines(moreWork, machinesThat('neighbor'), change)).toBe(moreWork);
  expect(withMachines(moreWork, null, change)).toBe(moreWork);
  expect(withMachines({ ...moreWork, isMoreWork: false }, machinesThat('neighbor'), change).cause).toBe(
    'neighbor',
  );
});
