import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { InputError } from '../../src/base/input-error.js';
import { diagnose } from '../../src/library/diagnose.js';
import { cpuTime } from '../helpers/cpu-time.js';
import { inFolder } from '../helpers/folder.js';
import { DATABASE, FLIGHT, MEMORY, PROC_SAMPLES, SPEEDSCOPE } from '../helpers/hostile/samples.js';
import { peakMemory } from '../helpers/memory.js';
import { pickled } from '../helpers/pickles.js';

/** Of processor time, and of memory beyond what this process has: the guarantees are 10 s and 1 GB. */
const MOST_MS = 8000;
const MOST_MB = 800;

const packed = (...parts: readonly (string | Buffer)[]) =>
  gzipSync(Buffer.concat(parts.map((part) => Buffer.from(part))), { level: 1 });
const times = (unit: string, count: number) => Buffer.alloc(unit.length * count, unit, 'latin1');

/** JSON with a list of so many empty lists instead of the first list that is found. */
function withLists(value: object, count: number): Buffer {
  const [head, tail] = JSON.stringify({ ...value, more: ['@'] }).split('"@"') as [string, string];
  return packed(head, times('[],', count), '[]', tail);
}

/** All rows of a page are the same one. */
function withEqualRows(database: Buffer): Buffer {
  const file = Buffer.from(database);
  const size = file.readUInt16BE(16);
  for (let page = size; page < file.length; page += size) {
    if (file[page] !== 13) continue;
    const count = Math.floor((size - 8) / 2) - 100;
    const row = file.readUInt16BE(page + 8);
    file.writeUInt16BE(count, page + 3);
    for (let i = 0; i < count; i++) file.writeUInt16BE(row, page + 8 + 2 * i);
  }
  return file;
}

/** One list of events on all GPUs: the pickle has it once. */
function withSharedEvents(gpus: number, events: number): Buffer {
  const [, alloc] = MEMORY.device_traces[0]!;
  const list = Array.from({ length: events }, () => alloc);
  return packed(pickled({ ...MEMORY, device_traces: Array.from({ length: gpus }, () => list) }));
}

const sample = (processes: number) => `{"sample":{"seconds":1,"processes":[${'{},'.repeat(processes)}{}]}}\n`;

it.each<[string, string, () => Buffer]>([
  [
    'a memory snapshot whose GPUs share a list of events',
    'a.pickle.gz',
    () => withSharedEvents(200, 100_000),
  ],
  ['a dump of the flight recorder with 20 million empty lists', 'a.json.gz', () => withLists(FLIGHT, 20e6)],
  [
    'a recording of stacks with 20 million empty lists',
    'a.json.gz',
    () => withLists(SPEEDSCOPE as object, 20e6),
  ],
  [
    'a recording of /proc with 3 million empty processes',
    'proc.jsonl.gz',
    () => packed(`${JSON.stringify(PROC_SAMPLES[0])}\n`, times(sample(300_000), 10)),
  ],
  [
    'a pickle with 30 million numbers',
    'a.pickle.gz',
    () => packed(Buffer.from('8004', 'hex'), '}X\x08\0\0\0segments](', times('K\x01', 30e6), 'es.'),
  ],
  ['an nsys export whose rows are the same one', 'a.sqlite', () => withEqualRows(DATABASE)],
])('takes less than 10 s and 1 GB: %s', (_, name, make) =>
  inFolder(async (folder) => {
    writeFileSync(join(folder, name), make());
    const [memory, cpu] = [peakMemory(), cpuTime()];
    const result = await diagnose(folder, { jobs: 1 }).catch((error: unknown) => error);
    expect(cpuTime() - cpu).toBeLessThan(MOST_MS);
    expect(memory.mb()).toBeLessThan(MOST_MB);
    if (!(result instanceof InputError)) expect(result).toHaveProperty('verdict');
  }),
);
