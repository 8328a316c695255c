import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { draw, faults, read } from '../../../../test/helpers/dmon/tables.js';
import { dmonReader } from '../../dmon/descriptor.js';

/** The names of ROCm 5 and of ROCm 6. */
const OLD = {
  card0: {
    'Unique ID': '0x2150e7d042a1124',
    'GPU use (%)': '97',
    'GPU memory use (%)': '41',
    'Temperature (Sensor edge) (C)': '40.0',
    'Temperature (Sensor junction) (C)': '52.0',
    'Average Graphics Package Power (W)': '280.4',
    'Max Graphics Package Power (W)': '560.0',
    'sclk clock speed:': '(1700Mhz)',
    'mclk clock speed:': '(1600Mhz)',
    'PCI Bus': '0000:C1:00.0',
    'Card series': 'AMD Instinct MI250X',
  },
  system: { 'Driver version': '6.3.6' },
};
const NEW = {
  system: { 'Driver version': '6.7.0' },
  card3: {
    'GPU use (%)': '12',
    'Temperature (Sensor edge) (C)': 'N/A',
    'Current Socket Graphics Package Power (W)': '143.0',
    'Device Name': 'AMD Instinct MI300X',
  },
};
const LOG = `WARNING: AMD GPU device(s) is/are in a low-power state\n${[OLD, NEW].map((o) => JSON.stringify(o)).join('\n')}\n`;

describe('rocm-smi --json', () => {
  it('gives a sample of each card in each line, whatever the names', () => {
    const result = read(LOG, [40, 200]);
    expect(draw(result)).toEqual([
      '#0 utilization 97 memoryUtilization 41 smClock 1700 memoryClock 1600 power 280.4 powerLimit 560 temperature 52',
      '#3 utilization 12 power 143',
    ]);
    expect(result.problems).toEqual([]);
    expect(result.telemetry.gpus[0]).toMatchObject({
      name: 'AMD Instinct MI250X',
      pci: '0:c1:0',
      uuid: '2150e7d042a1124',
    });
  });

  it('counts what is odd and keeps the rest', () => {
    const bad = JSON.stringify({ card0: { 'GPU use (%)': 'much', 'Card series': [1] }, card1: 7 });
    expect(faults(read(`${bad}\n{"card0": {"GPU use`))).toEqual([
      'odd-value×1@1',
      'odd-line×1@1',
      'cut-sample×1@2',
    ]);
  });

  it('is recognized, and nothing else is', () => {
    expect(dmonReader.sniff(Buffer.from(LOG))).toBe(true);
    for (const other of ['{"card0": 1}', '{"card": {"GPU use (%)": 1}}', '{"traceEvents": []}', ''])
      expect(dmonReader.sniff(Buffer.from(other))).toBe(false);
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(LOG.length), fc.nat(255)), { maxLength: 8 }), (flips) => {
        const bytes = Uint8Array.from(Buffer.from(LOG));
        for (const [at, value] of flips) bytes[at] = value;
        dmonReader.sniff(bytes);
        expect(read(bytes).telemetry.rows).toBeLessThanOrEqual(3);
      }),
      { numRuns: 200 },
    );
  });
});
