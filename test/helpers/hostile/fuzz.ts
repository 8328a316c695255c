import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { diagnose as Diagnose, inspect as Inspect } from '../../../src/index.js';
import { tar, zip, zstdFrame } from '../archives.js';
import { cpuTime } from '../cpu-time.js';
import { Random } from '../simulate/random.js';
import { type Document, drawDocument } from './documents.js';
import { range } from './events.js';
import { mutateBytes, pick } from './mutate.js';

/** The library as built, or its sources. */
export interface Library {
  readonly diagnose: typeof Diagnose;
  readonly inspect: typeof Inspect;
  readonly InputError: new (...args: never[]) => Error;
}

/** Case `index` of a seed: one to four files of a run, the same every time. */
export function drawCase(seed: number, index: number): readonly Document[] {
  const random = new Random(seed, index);
  const count = random.next() < 0.7 ? 1 : 2 + Math.floor(3 * random.next());
  const documents = range(count).map((rank) => packed(drawDocument(random, rank), random));
  return random.next() < 0.1 ? [archive(documents, random)] : documents;
}

function packed({ name, data }: Document, random: Random): Document {
  const draw = random.next();
  const broken = draw < 0.2 ? mutateBytes(data, random) : data;
  if (draw < 0.8) return { name, data: broken };
  const [suffix, bytes] = draw < 0.9 ? ['gz', gzipSync(broken, { level: 1 })] : ['zst', zstdFrame(broken)];
  return { name: `${name}.${suffix}`, data: random.next() < 0.3 ? mutateBytes(bytes, random) : bytes };
}

function archive(documents: readonly Document[], random: Random): Document {
  const [name, data] = pick(random, [
    () => ['run.tar', tar(documents)] as const,
    () => ['run.tar.gz', gzipSync(tar(documents), { level: 1 })] as const,
    () => ['run.zip', zip(documents)] as const,
  ])();
  return { name, data: random.next() < 0.5 ? mutateBytes(data, random) : data };
}

/** Of processor time, of all cases that are under way. The clock would tell how busy the machine is. */
const MOST_CPU_MS = 10_000;

/** Reads one case in this process. Returns what went wrong, or null. */
export async function tryCase(
  library: Library,
  folder: string,
  seed: number,
  index: number,
): Promise<string | null> {
  const documents = drawCase(seed, index);
  rmSync(folder, { recursive: true, force: true });
  for (const { name, data } of documents) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, data);
  }
  const from = cpuTime();
  try {
    // One in ten is only listed: that takes other ways through the program.
    const read = index % 10 === 0 ? library.inspect : library.diagnose;
    const wrong = faultOf(await read(folder, { jobs: 1 }));
    if (wrong) return wrong;
  } catch (error) {
    if (!(error instanceof library.InputError)) return (error as Error).stack ?? String(error);
    if (CAUGHT.test(error.message)) return error.message;
  }
  const took = cpuTime() - from;
  return took > MOST_CPU_MS ? `it took ${Math.round(took)} ms of processor time` : null;
}

/** A bug that was caught and reported is still one. */
const BUGS = /"(?:reading-failed|analysis-failed|check-failed|rule-failed)"/;
/** The message when no file is left. */
const CAUGHT = /reading .* failed: /s;

function faultOf(report: object): string | null {
  const path = notFinite(report, '');
  if (path !== null) return `not a finite number: ${path}`;
  const text = JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  const bug = BUGS.exec(text);
  if (bug) return text.slice(bug.index, bug.index + 300);
  const strange = STRANGE.exec(text);
  return strange && `strange text: ${text.slice(Math.max(0, strange.index - 100), strange.index + 50)}`;
}

/** A figure that is none, in a sentence. Names in the files do not look like this. */
const STRANGE = /\b(?:NaN|-?Infinity|undefined) ?(?:[nmµ]?s|%|×|[kMG]?B|steps?|ranks?)\b|\[object Object\]/;

/** The way to the first number that JSON would turn into null. */
function notFinite(value: unknown, path: string): string | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : `${path} = ${value}`;
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, child] of Object.entries(value)) {
    const found = notFinite(child, `${path}.${key}`);
    if (found !== null) return found;
  }
  return null;
}
