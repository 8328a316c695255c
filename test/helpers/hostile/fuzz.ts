import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { InputError } from '../../../src/base/input-error.js';
import { tar, zip, zstdFrame } from '../archives.js';
import { cpuTime } from '../cpu-time.js';
import { peakMemory } from '../memory.js';
import { Random } from '../simulate/random.js';
import { type Document, drawDocument, type FormatName } from './documents.js';
import { range } from './events.js';
import { mutateBytes, pick } from './mutate.js';
import { type Made, USES, type UseName } from './uses.js';

/** Case `index` of a seed: one to four files of a run, the same every time. */
export function drawCase(seed: number, index: number, format?: FormatName): readonly Document[] {
  const random = new Random(seed, index);
  const count = random.next() < 0.7 ? 1 : 2 + Math.floor(3 * random.next());
  const documents = range(count).map((rank) => packed(drawDocument(random, rank, format), random));
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

/** Of processor time: the clock would tell how busy the machine is. */
const MOST_CPU_MS = 10_000;
const MOST_MB = 1024;

/** Most files are diagnosed; a log of a job may be watched, a recording of /proc replayed. */
const OFTEN: readonly UseName[] = Array<UseName>(12).fill('diagnose');
const RARELY = Object.keys(USES) as UseName[];

/** Reads one case in this process. Returns what went wrong, or null. */
export async function tryCase(
  lane: string,
  seed: number,
  index: number,
  format?: FormatName,
): Promise<string | null> {
  rmSync(lane, { recursive: true, force: true });
  const folder = join(lane, 'in');
  const files = drawCase(seed, index, format).map(({ name, data }) => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, data);
    return path;
  });
  const use = pick(new Random(seed + 1, index), [...OFTEN, ...RARELY]);
  const memory = peakMemory();
  const from = cpuTime();
  try {
    const made: Made = await USES[use]({ folder, files, out: join(lane, 'out') });
    const wrong = faultOf(made.data, made.text ?? '');
    if (wrong) return `${use}: ${wrong}`;
  } catch (error) {
    if (!(error instanceof InputError)) return `${use}: ${(error as Error).stack ?? error}`;
    if (CAUGHT.test(error.message)) return `${use}: ${error.message}`;
  }
  const [took, peak] = [cpuTime() - from, memory.mb()];
  if (took > MOST_CPU_MS) return `${use}: it took ${Math.round(took)} ms of processor time`;
  return peak > MOST_MB ? `${use}: it took ${Math.round(peak)} MB` : null;
}

/** A bug that was caught and reported is still one. */
const BUGS = /"(?:reading-failed|analysis-failed|check-failed|rule-failed)"/;
/** The message when no file is left. */
const CAUGHT = /reading .* failed: /s;

function faultOf(report: object, shown: string): string | null {
  const path = notFinite(report, '');
  if (path !== null) return `not a finite number: ${path}`;
  const text = JSON.stringify(report, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  const bug = BUGS.exec(text);
  if (bug) return text.slice(bug.index, bug.index + 300);
  return strangeIn(text) ?? strangeIn(shown);
}

/** A figure that is none, in a sentence. Names in the files do not look like this. */
const STRANGE = /\b(?:NaN|-?Infinity|undefined) ?(?:[nmµ]?s|%|×|[kMG]?B|steps?|ranks?)\b|\[object Object\]/;

function strangeIn(text: string): string | null {
  const strange = STRANGE.exec(text);
  return strange && `strange text: ${text.slice(Math.max(0, strange.index - 100), strange.index + 50)}`;
}

/** The way to the first number that JSON would turn into null. In columns of the page NaN means that nothing was recorded. */
function notFinite(value: unknown, path: string): string | null {
  if (value instanceof Float32Array) return value.some((v) => Math.abs(v) === Infinity) ? path : null;
  if (typeof value === 'number') return Number.isFinite(value) ? null : `${path} = ${value}`;
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, child] of Object.entries(value)) {
    const found = notFinite(child, `${path}.${key}`);
    if (found !== null) return found;
  }
  return null;
}
