import { describe, expect, it } from 'vitest';
import { DMON, draw, faults, QUERY, read } from '../../../test/helpers/dmon/tables.js';
import { MAX_ROWS } from '../common/telemetry/columns.js';
import { findReader } from '../registry.js';
import { dmonReader } from './descriptor.js';

describe('nvidia-smi dmon', () => {
  it('reads columns by name, a missing value as unknown', () => {
    const result = read(DMON);
    expect(result.problems).toEqual([]);
    expect(draw(result)).toEqual([
      '#0 utilization 97 memoryUtilization 47 smClock 1920 memoryClock 3201 power 688 temperature 62 powerCap 0 thermal 0',
      '#1 utilization 0 memoryUtilization 0 smClock 1980 memoryClock 3201 power 530 powerCap 0.79 thermal 1',
    ]);
    expect(result.telemetry.gpus).toEqual(
      [0, 1].map((index) => ({ index, name: null, uuid: null, pci: null })),
    );
    expect(result.telemetry.power.buffer.byteLength).toBe(8);
    expect(structuredClone(result.telemetry)).toEqual(result.telemetry);
  });

  it('reads leading date and time, columns in another order, and repeated headers', () => {
    const text = `#Date       Time        gpu    sm   pclk
#YYYYMMDD   HH:MM:SS    Idx     %    MHz
 20210102   19:12:31      0    37   1582

 20210102   19:12:32      0    38   1583
# gpu   pclk    sm
# Idx    MHz     %
    0   1584    39
`;
    expect(draw(read(text))).toEqual([
      '#0 2021-01-02T19:12:31.000Z utilization 37 smClock 1582',
      '#0 2021-01-02T19:12:32.000Z utilization 38 smClock 1583',
      '#0 utilization 39 smClock 1584',
    ]);
  });

  it('reads commas, CRLF, a BOM, a time without a date, and violations in percent', () => {
    const text =
      '\ufeff#Time, gpu, pwr, tviol\r\n#HH:MM:SS, Idx, W, %\r\n19:12:31, 0, 37, 25\r\n19:12:32, 1, 38, 0\r\n';
    expect(draw(read(text))).toEqual(['#0 power 37 thermal 0.25', '#1 power 38 thermal 0']);
  });
});

describe('a query as CSV', () => {
  it('reads names with and without units, and the reasons for a low clock', () => {
    const result = read(QUERY);
    expect(result.problems).toEqual([]);
    expect(draw(result)).toEqual([
      '#0 2026-11-15T00:55:37.060Z utilization 100 memoryUtilization 40 smClock 1050 maxSmClock 1980 power 324.99 powerLimit 700 temperature 88 powerCap 0 thermal 1 slowdown 1',
      '#0 2026-11-15T00:55:38.060Z smClock 1980 maxSmClock 1980 powerLimit 700 temperature 41 powerCap 0 thermal 0 slowdown 0',
    ]);
    expect(result.telemetry.gpus).toEqual([{ index: 0, name: 'NVIDIA H200', uuid: null, pci: null }]);
  });

  it('reads reasons in columns of their own, and GPUs by their ids', () => {
    const uuid = 'GPU-1a2b3c4d-0000-1111-2222-333344445555';
    const text = `uuid, pci.bus_id, power.draw [W], clocks_throttle_reasons.hw_thermal_slowdown, clocks_throttle_reasons.sw_thermal_slowdown, clocks_throttle_reasons.sw_power_cap
${uuid}, 00000000:1A:00.0, 90.5, Not Active, Active, Not Active
${uuid}, 00000000:1A:00.0, 91.5, [N/A], Not Active, Active
`;
    const result = read(text);
    expect(draw(result).map((row) => row.replace(/^#\S+ /, ''))).toEqual([
      'power 90.5 powerCap 0 thermal 1',
      'power 91.5 powerCap 1 thermal 0',
    ]);
    expect(result.telemetry.gpus).toMatchObject([{ uuid: uuid.slice(4), pci: '0:1a:0', index: null }]);
  });
});

const ROW = '    0    600     62     53     97     47   3201   1900      0      0   5239     66';

/** Title, what follows the header, rows, problems. */
const FAULTS: readonly [string, string, number, readonly string[]][] = [
  ['an incomplete last line', `${ROW}\n${ROW}`, 1, ['cut-sample×1@4']],
  ['a line with too few cells', `${ROW}\n  0 1 2\n${ROW}\n`, 2, ['odd-line×1@4']],
  ['words for numbers', `${ROW.replace('600', 'ERR!')}\n`, 1, ['odd-value×1@3']],
  ['an impossibly large number', `${ROW.replace('600', '6e99')}\n`, 1, ['odd-value×1@3']],
  ['NUL bytes', `${ROW}\n\0\0\0${ROW}\n`, 2, ['nul-bytes×3@4']],
  ['an error in the middle', `${ROW}\nUnable to determine the device handle\n`, 1, ['odd-line×1@4']],
];

describe('faults', () => {
  const header = DMON.split('\n').slice(0, 2).join('\n');
  it.each(FAULTS)('%s', (_, text, rows, problems) => {
    const result = read(`${header}\n${text}`);
    expect(draw(result)).toHaveLength(rows);
    expect(faults(result)).toEqual(problems);
  });

  it('bounds what it keeps', () => {
    const reader = dmonReader.create({});
    reader.push(Buffer.from('# gpu sm pclk\n'));
    const chunk = Buffer.from('0 100 1900\n'.repeat(1000));
    for (let i = 0; i <= MAX_ROWS / 1000; i++) reader.push(chunk);
    const result = reader.finish();
    expect(result).toMatchObject({
      telemetry: { rows: MAX_ROWS },
      problems: [{ code: 'too-many-samples', count: 1000 }],
    });
  });

  it('reads other text as no samples', () => {
    expect(draw(read(''))).toEqual([]);
    expect(faults(read('0 1 2\n'))).toEqual(['odd-line×1@1']);
  });
});

describe('sniff', () => {
  const kindOf = (text: string) => findReader(Buffer.from(text))?.id ?? null;
  it.each([
    ['dmon', DMON, 'dmon'],
    ['dmon with a date', '#Date Time gpu pwr sm\n#YYYYMMDD HH:MM:SS Idx W %\n', 'dmon'],
    ['a query', QUERY, 'dmon'],
    ['a query below a warning', `WARNING: infoROM is corrupted\n${QUERY}`, 'dmon'],
    [
      'processes',
      '# gpu   pid  type    sm   mem   enc   dec   command\n# Idx     #   C/G     %     %     %     %   name\n',
      null,
    ],
    ['a table with a comment', '# gpu price\n0 1\n', null],
    ['another CSV', 'timestamp, index, name, value\n', null],
    ['nvidia-smi itself', '+----+\n| NVIDIA-SMI 580.159.04 Driver Version: 580.159.04 |\n', null],
    ['a script that asks', 'nvidia-smi --query-gpu=power.draw,clocks.sm --format=csv\n', null],
  ])('%s', (_, text, kind) => expect(kindOf(text)).toBe(kind));
});
