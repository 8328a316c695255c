import { expect, it } from 'vitest';
import { type Machine, mostJobs, mustHaveAddressSpace } from './pool.js';

const LARGE: Machine = {
  cores: 64,
  freeMemory: 500e9,
  addressSpace: Number.POSITIVE_INFINITY,
  openFilesLimit: 65_536,
  openFiles: 20,
};

it.each([
  ['cores', {}, 128, 'this machine has 64 cores'],
  ['memory', { freeMemory: 1e9 }, 3, '1.00 GB of memory are free'],
  ['no memory at all', { freeMemory: 1e6 }, 1, '1.00 MB of memory are free'],
  ['address space', { addressSpace: 7e9 }, 4, 'ulimit -v leaves 7.00 GB'],
  ['less than none', { addressSpace: -1 }, 1, 'ulimit -v leaves 0 B'],
  ['open files', { openFilesLimit: 100 }, 5, 'ulimit -n is 100'],
  ['no open files left', { openFilesLimit: 16 }, 1, 'ulimit -n is 16'],
])('as many jobs as %s allow', (_, limit, jobs, why) => {
  expect(mostJobs({ ...LARGE, ...limit })).toEqual({ jobs, why });
});

it('refuses to read where V8 would end the process', () => {
  expect(() => mustHaveAddressSpace(50e6)).toThrow('ulimit -v leaves 50.0 MB');
  expect(() => mustHaveAddressSpace(300e6)).not.toThrow();
  expect(() => mustHaveAddressSpace()).not.toThrow();
});
