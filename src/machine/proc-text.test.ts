import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { statLine } from '../../test/helpers/machine.js';
import {
  countCpus,
  parseCpuTime,
  parseFields,
  parsePressure,
  parseReceived,
  parseRunnable,
  parseStat,
  threadOf,
  zeroSeparated,
} from './proc-text.js';

describe('what the kernel prints', () => {
  it('reads stat, whatever the name of the program', () => {
    expect(parseStat(statLine(7, 'a) R 1 (b', 'D', 3, 250))).toEqual({
      name: 'a) R 1 (b',
      state: 'D',
      parent: 3,
      majorFaults: 7,
      cpu: 2.5,
    });
  });

  it('prefers the exact time of schedstat', () => {
    const stat = parseStat(statLine(7, 'python', 'R', 1, 100))!;
    expect(threadOf(7, stat, '1500000000 250000000 9\n')).toMatchObject({ cpu: 1.5, delayed: 0.25 });
    expect(threadOf(7, stat, null)).toMatchObject({ cpu: 1, delayed: null });
    // A kernel without schedstats.
    expect(threadOf(7, stat, '0 0 0\n')).toMatchObject({ cpu: 1, delayed: null });
  });

  it('reads fields with and without units', () => {
    const fields = parseFields('VmSwap:\t     12 kB\nrchar: 99\npswpin 5\nName:\tpython\n');
    expect([...fields]).toEqual([
      ['VmSwap', 12_288],
      ['rchar', 99],
      ['pswpin', 5],
    ]);
  });

  it('reads pressure, load and network', () => {
    expect(parsePressure('some avg10=1.0 avg60=0 avg300=0 total=2500000\nfull avg10=0 total=1\n')).toBe(2.5);
    expect(parseRunnable('0.50 0.40 0.30 3/345 999\n')).toBe(3);
    const dev = 'Inter-|   Receive\n face |bytes\n    lo: 500 1\n  eth0: 1000 2\nib0:24 1\n';
    expect(parseReceived(dev)).toBe(1024);
    expect([parsePressure(null), parseRunnable(null), parseReceived('')]).toEqual([null, null, null]);
  });

  it('reads the CPU time of the machine, and what its host took of it', () => {
    const stat = 'cpu  1000 50 300 9000 70 20 30 400 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n';
    expect(parseCpuTime(stat)).toEqual({ cpuUsed: 14, cpuStolen: 4 });
    const unknown = { cpuUsed: null, cpuStolen: null };
    expect(parseCpuTime('cpu  0 0 0 0 0 0 0 0 0 0\n')).toEqual(unknown);
    expect([parseCpuTime(null), parseCpuTime('cpu  1 2\n')]).toEqual([unknown, unknown]);
  });

  it.each([
    ['0-3,8', 5],
    ['7', 1],
    ['', null],
    ['a-b', null],
  ])('counts the CPUs of "%s"', (list, cpus) => {
    expect(countCpus(list)).toBe(cpus);
  });

  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
        parseFields(text);
        parsePressure(text);
        parseRunnable(text);
        parseReceived(text);
        parseCpuTime(text);
        countCpus(text);
        zeroSeparated(text);
        const stat = parseStat(text);
        if (stat) threadOf(1, stat, text);
      }),
    );
  });
});
