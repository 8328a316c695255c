import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { createGzip, gunzipSync } from 'node:zlib';

/**
 * A large trace from a small one: its events repeated, each time later and with fresh ids, as a longer window of the
 * same job would look. The header and what follows the events stay. Kept on disk: making 10 GB takes minutes.
 */
export async function largeTrace(source: string, target: string, megabytes: number): Promise<string> {
  if (existsSync(target)) return target;
  mkdirSync(dirname(target), { recursive: true });
  process.stderr.write(`making ${target} (${megabytes} MB of JSON) ...\n`);
  const text = gunzipSync(readFileSync(source)).toString('latin1');
  const open = text.indexOf('[', text.indexOf('"traceEvents"')) + 1;
  const close = text.lastIndexOf(']');
  const template = compile(text.slice(open, close));
  const gzip = createGzip({ level: 6 });
  const partial = `${target}.partial`;
  const done = finished(gzip.pipe(createWriteStream(partial)));
  let written = 0;
  const write = async (piece: string) => {
    written += piece.length;
    if (!gzip.write(Buffer.from(piece, 'latin1')))
      await new Promise((resolve) => gzip.once('drain', resolve));
  };
  await write(text.slice(0, open));
  for (let copy = 0; written < megabytes * 1e6; copy++)
    await write((copy > 0 ? ',' : '') + render(template, copy));
  await write(text.slice(close));
  gzip.end();
  await done;
  renameSync(partial, target);
  return target;
}

interface Template {
  /** Texts and the numbers between them: texts[0] numbers[0] texts[1] ... */
  readonly texts: readonly string[];
  readonly numbers: readonly number[];
  /** What one copy adds to each number. */
  readonly shifts: readonly number[];
}

const SHIFTED = /"(ts|correlation|id|External id|ProfilerStep#)(?:": )?(\d+)/g;

function compile(body: string): Template {
  const texts: string[] = [];
  const numbers: number[] = [];
  const keys: string[] = [];
  const range = new Map<string, { min: number; max: number }>();
  let last = 0;
  for (const m of body.matchAll(SHIFTED)) {
    const [all, key, digits] = m as unknown as [string, string, string];
    const value = Number(digits);
    // Steps are counted on by their own number; metadata events at time 0 stay there.
    if (key === 'ts' && value === 0) continue;
    texts.push(body.slice(last, m.index + all.length - digits.length));
    numbers.push(value);
    keys.push(key);
    last = m.index + all.length;
    const seen = range.get(key) ?? { min: value, max: value };
    range.set(key, { min: Math.min(seen.min, value), max: Math.max(seen.max, value) });
  }
  texts.push(body.slice(last));
  const gap = (key: string) => (key === 'ts' ? 1000 : 1);
  const shifts = keys.map((key) => range.get(key)!.max - range.get(key)!.min + gap(key));
  return { texts, numbers, shifts: joinIds(keys, shifts, range) };
}

/** Flow ids are correlation ids: both shift by the same amount, or they would no longer match. */
function joinIds(
  keys: readonly string[],
  shifts: readonly number[],
  range: ReadonlyMap<string, { min: number; max: number }>,
) {
  const ids = range.get('correlation') ?? { min: 0, max: 0 };
  return shifts.map((s, i) => (keys[i] === 'correlation' || keys[i] === 'id' ? ids.max - ids.min + 1 : s));
}

function render({ texts, numbers, shifts }: Template, copy: number): string {
  const parts: string[] = [];
  for (let i = 0; i < numbers.length; i++) parts.push(texts[i]!, String(numbers[i]! + copy * shifts[i]!));
  parts.push(texts.at(-1)!);
  return parts.join('');
}
