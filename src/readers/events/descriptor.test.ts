import { describe, expect, it } from 'vitest';
import { draw, faults, read, row } from '../../../test/helpers/events.js';
import { MAX_LINE_BYTES } from '../common/line-splitter.js';
import { eventsReader } from './descriptor.js';
import { MAX_NAMES, MAX_RUNS } from './runs.js';

describe('the forms', () => {
  it('reads what lmms-engine writes: four fields, no header', () => {
    const result = read(
      [
        '{"name": "host_to_device", "step": 10, "rank": 3, "duration_ms": 0.12345600128173828}',
        '{"name": "training_step", "step": 10, "rank": 3, "duration_ms": 3.0619}',
        '{"name": "training_step", "step": 20, "rank": 3, "duration_ms": 3}',
        '',
      ].join('\n'),
    );
    expect(result.problems).toEqual([]);
    expect(result.runs).toHaveLength(1);
    const [run] = result.runs;
    expect(run).toMatchObject({
      id: null,
      header: null,
      rows: 3,
      names: ['host_to_device', 'training_step'],
    });
    expect(draw(run!)).toEqual([
      'host_to_device@10 r3 0.12345600128173828',
      'training_step@10 r3 3.0619',
      'training_step@20 r3 3',
    ]);
  });

  it('reads header and optional fields, in any order, unknown ones ignored', () => {
    const result = read(
      [
        '{"whyslow": 1, "run": "r1", "rank": 2, "anchors": [{"wall_ns": 5}], "later": true}',
        '{"clock":"gpu","micro":0,"start_ms":-1.5,"duration_ms":2e-1,"rank":2,"step":4,"name":"forward","x":{"y":[]}}',
        '{"name":"data_wait","step":4,"rank":2,"duration_ms":9,"clock":"host","run":"r1","micro":null}',
        '{"name":"backward","step":4,"rank":2,"duration_ms":7,"clock":"gpu","host_ms":3.5,"lag_ms":"4"}',
        '{"name":"optimizer","step":4,"rank":2,"duration_ms":1,"clock":"gpu","host_ms":null,"lag_ms":null}',
        '{"name":"optimizer","step":5,"rank":2,"duration_ms":1,"profiler":"attached"}',
        '{"name":"optimizer","step":6,"rank":2,"duration_ms":1,"profiler":"recording"}',
      ].join('\n'),
    );
    expect(result.problems).toEqual([]);
    expect(result.runs).toHaveLength(1);
    expect(result.runs[0]!.id).toBe('r1');
    expect(result.runs[0]!.header).toEqual({
      version: 1,
      run: 'r1',
      rank: 2,
      worldSize: null,
      startedNs: 5,
      command: null,
      denseSteps: 0,
      fields: { whyslow: 1, run: 'r1', rank: 2, anchors: [{ wall_ns: 5 }], later: true },
    });
    expect(draw(result.runs[0]!)).toEqual([
      'forward@4 r2 0.2 +-1.5 #0 gpu',
      'data_wait@4 r2 9 host',
      'backward@4 r2 7 gpu host 3.5 lag 4',
      'optimizer@4 r2 1 gpu',
      'optimizer@5 r2 1 attached',
      'optimizer@6 r2 1 recording',
    ]);
  });

  it('gives columns that can be cloned, each in a buffer of its own size', () => {
    const { runs } = read(Array.from({ length: 100 }, (_, i) => row('a', i)).join('\n'));
    expect(structuredClone(runs)).toEqual(runs);
    expect(runs[0]!.step.buffer.byteLength).toBe(800);
    expect(runs[0]!.name.buffer.byteLength).toBe(200);
  });

  it('reads an empty file as no run, and a header alone as a run without rows', () => {
    expect(read('')).toEqual({ runs: [], problems: [] });
    expect(read('\n \r\n')).toEqual({ runs: [], problems: [] });
    expect(read('{"whyslow": 1}').runs).toMatchObject([
      { rows: 0, id: null, header: { run: null, rank: null } },
    ]);
  });
});

const GOOD = row('a', 1);
const DRAWN = 'a@1 r0 1';

/** Title, input, rows expected, problems expected. */
const FAULTS: readonly [string, string | Uint8Array, readonly string[], readonly string[]][] = [
  ['CRLF and BOM', `\ufeff${GOOD}\r\n\r\n${row('a', 2)}\r\n`, [DRAWN, 'a@2 r0 1'], []],
  ['no newline at the end', GOOD, [DRAWN], []],
  ['a half-written last line', `${GOOD}\n${row('b', 2).slice(0, 30)}`, [DRAWN], ['cut-last-line×1@2']],
  [
    'a last line cut inside UTF-8',
    Buffer.from(`${GOOD}\n{"name": "é`).subarray(0, -1),
    [DRAWN],
    ['cut-last-line×1@2'],
  ],
  ['broken lines in the middle', `x\n${GOOD}\n[1]\n7\nnull\n{}}\n`, [DRAWN], ['broken-line×5@1']],
  ['a cut line with the next run after it', `{"name": "b", "st${GOOD}\n`, [DRAWN], ['broken-line×1@1']],
  ['two records on a line', `${GOOD}${row('a', 2)}\n`, [DRAWN, 'a@2 r0 1'], ['broken-line×1@1']],
  ['NUL at the start', `\0\0\0${GOOD}\n`, [DRAWN], ['nul-bytes×3@1']],
  ['NUL at the end', `${GOOD}\n\0\0\0\0`, [DRAWN], ['nul-bytes×4@2']],
  [
    'a cut line, then NUL to the end',
    `${GOOD}\n{"name"\0\0\n`,
    [DRAWN],
    ['nul-bytes×2@2', 'cut-last-line×1@2'],
  ],
  ['a cut line, NUL, then a record', `{"name"\0\0${GOOD}\n`, [DRAWN], ['nul-bytes×2@1', 'broken-line×1@1']],
  ['no name', '{"step": 1, "rank": 0, "duration_ms": 1}\n', [], ['missing-field×1@1']],
  ['no step', '{"name": "a", "step": null, "rank": 0, "duration_ms": 1}\n', [], ['missing-field×1@1']],
  ['no duration', '{"name": "a", "step": 1, "rank": 0}\n', ['a@1 r0 NaN'], ['missing-field×1@1']],
  ['no rank', '{"name": "a", "step": 1, "duration_ms": 1}\n', ['a@1 r-1 1'], ['missing-field×1@1']],
  [
    'no rank, but one in the header',
    '{"whyslow": 1, "rank": 5}\n{"name": "a", "step": 1, "duration_ms": 1}\n',
    ['a@1 r5 1'],
    ['missing-field×1@2'],
  ],
  [
    'numbers as text',
    '{"name": "a", "step": "12", "rank": " 3 ", "duration_ms": "1.5e1", "start_ms": "-2", "micro": "4"}\n',
    ['a@12 r3 15 +-2 #4'],
    [],
  ],
  [
    'a name that is not text',
    '{"name": 5, "step": 1, "rank": 0, "duration_ms": 1}\n',
    [],
    ['wrong-type×1@1'],
  ],
  [
    'a step that is no integer',
    '{"name": "a", "step": 1.5, "rank": 0, "duration_ms": 1}',
    [],
    ['wrong-type×1@1'],
  ],
  [
    'a step in hexadecimal',
    '{"name": "a", "step": "0x10", "rank": 0, "duration_ms": 1}',
    [],
    ['wrong-type×1@1'],
  ],
  ['a step that is NaN', '{"name": "a", "step": NaN, "rank": 0, "duration_ms": 1}', [], ['wrong-type×1@1']],
  [
    'the other fields of the wrong type',
    '{"name": "a", "step": 1, "rank": 4294967296, "duration_ms": true, "micro": 0.5, "clock": "sun", "run": [], "profiler": 1}',
    ['a@1 r-1 NaN'],
    ['wrong-type×6@1'],
  ],
  [
    'NaN and Infinity as Python writes them',
    [row('a', 1, 'NaN'), row('a', 2, 'Infinity'), row('a', 3, '-Infinity'), row('a', 4, '1e999')].join('\n'),
    ['a@1 r0 NaN', 'a@2 r0 NaN', 'a@3 r0 NaN', 'a@4 r0 NaN'],
    ['non-finite×4@1'],
  ],
  ['NaN as text', row('a', 1, '"nan"'), ['a@1 r0 NaN'], ['non-finite×1@1']],
  [
    'NaN in a name next to a bare one',
    row('NaN "Infinity\\', 1, 'NaN'),
    ['NaN "Infinity\\@1 r0 NaN'],
    ['non-finite×1@1'],
  ],
  ['a negative duration', row('a', 1, -0.25), ['a@1 r0 -0.25'], ['negative-duration×1@1']],
  [
    'mixed ranks, one after the other',
    [row('a', 1), row('a', 2), row('a', 1, 1, '', 1), row('a', 2, 1, '', 1)].join('\n'),
    [DRAWN, 'a@2 r0 1', 'a@1 r1 1', 'a@2 r1 1'],
    ['mixed-ranks×2@3'],
  ],
  [
    'duplicates, not other micro-steps',
    [
      GOOD,
      GOOD,
      row('b', 1),
      row('d', 1, 1, ', "micro_step": 0'),
      row('d', 1, 1, ', "micro_step": 1'),
      row('c', 1, 1, ', "micro": 0'),
      row('c', 1, 1, ', "micro": 1'),
      row('c', 1, 1, ', "micro": 1'),
    ].join('\n'),
    [DRAWN, DRAWN, 'b@1 r0 1', 'd@1 r0 1 #0', 'd@1 r0 1 #1', 'c@1 r0 1 #0', 'c@1 r0 1 #1', 'c@1 r0 1 #1'],
    ['duplicate-record×2@2'],
  ],
  [
    'the same phase again, later: two waits for data in a step',
    [row('a', 1, 1, ', "micro": 0, "start_ms": 5'), row('a', 1, 1, ', "micro": 0, "start_ms": 6')].join('\n'),
    ['a@1 r0 1 +5 #0', 'a@1 r0 1 +6 #0'],
    [],
  ],
  [
    'a record written twice',
    [row('a', 1, 1, ', "micro": 0, "start_ms": 5'), row('a', 1, 1, ', "micro": 0, "start_ms": 5')].join('\n'),
    ['a@1 r0 1 +5 #0', 'a@1 r0 1 +5 #0'],
    ['duplicate-record×1@2'],
  ],
  [
    'a line above 1 MiB',
    `${GOOD}\n${row('b'.repeat(MAX_LINE_BYTES), 1)}\n${row('a', 2)}\n`,
    [DRAWN, 'a@2 r0 1'],
    ['long-line×1@2'],
  ],
  ['a name above 4 KiB', row('n'.repeat(5000), 1), [`${'n'.repeat(4096)}@1 r0 1`], ['long-name×1@1']],
  [
    'names that are properties of objects',
    `${row('__proto__', 1)}\n${row('constructor', 1)}`,
    ['__proto__@1 r0 1', 'constructor@1 r0 1'],
    [],
  ],
];

describe('faults', () => {
  it.each(FAULTS)('%s', (_, input, rows, problems) => {
    const result = read(input);
    expect(result.runs.flatMap(draw)).toEqual(rows);
    expect(faults(result)).toEqual(problems);
    for (const p of result.problems) expect(p.consequence).toMatch(/\.$/);
  });

  it('drops records with names beyond 16 MB', () => {
    const names = Array.from({ length: 4200 }, (_, i) => `${i}`.padEnd(4096, 'n'));
    const result = read(names.map((name) => row(name, 1)).join('\n'));
    expect(result.runs[0]!.names).toHaveLength(4096);
    expect(faults(result)).toEqual(['too-many-names×104@4097']);
  });

  it('drops records beyond 65535 names', () => {
    const lines = Array.from({ length: MAX_NAMES + 2 }, (_, i) => row(`n${i}`, 1));
    const result = read([...lines, row('n7', 2)].join('\n'));
    expect(result.runs[0]!.rows).toBe(MAX_NAMES + 1);
    expect(draw(result.runs[0]!).at(-1)).toBe('n7@2 r0 1');
    expect(faults(result)).toEqual([`too-many-names×2@${MAX_NAMES + 1}`]);
  });

  it('keeps the rows, not the runs, of a file with thousands of runs', () => {
    const result = read(Array.from({ length: MAX_RUNS + 5 }, (_, i) => row('a', -i)).join('\n'));
    expect(result.runs).toHaveLength(MAX_RUNS);
    expect(result.runs.at(-1)?.rows).toBe(6);
    expect(faults(result)).toEqual([`several-runs×${MAX_RUNS - 1}@2`, `too-many-runs×5@${MAX_RUNS + 1}`]);
    const headers = read('{"whyslow": 1}\n'.repeat(MAX_RUNS + 1) + GOOD);
    expect(headers.runs.at(-1)?.rows).toBe(1);
  });

  it('keeps only version, run and rank of a header that is too deep or too large', () => {
    const deep = `{"whyslow": 2, "run": 7, "rank": 1, "x": ${'['.repeat(1000)}${']'.repeat(1000)}}`;
    const large = `{"whyslow": "x", "x": "${'y'.repeat(70_000)}"}`;
    const result = read(`${deep}\n${large}\n`);
    expect(result.runs.map((r) => r.header)).toEqual([
      {
        version: 2,
        run: '7',
        rank: 1,
        worldSize: null,
        startedNs: null,
        command: null,
        denseSteps: 0,
        fields: {},
      },
      {
        version: 0,
        run: null,
        rank: null,
        worldSize: null,
        startedNs: null,
        command: null,
        denseSteps: 0,
        fields: {},
      },
    ]);
    expect(faults(result)).toEqual(['newer-version×1@1', 'oversized-header×2@1', 'several-runs×1@2']);
  });

  it('reads a gigabyte of garbage without newline in bounded memory', () => {
    const reader = eventsReader.create({});
    const before = process.memoryUsage().arrayBuffers;
    const chunk = new Uint8Array(1 << 20).fill(0x61);
    for (let i = 0; i < 1024; i++) reader.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 << 20);
    expect(reader.finish().problems).toMatchObject([{ code: 'long-line', count: 1 }]);
  });
});
