import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readFile } from '../../src/ingest/read-file.js';
import { WasmScanner } from '../../src/readers/kineto/wasm-scanner.js';
import { SOAK } from '../helpers/cases.js';
import { expectedRows, plainEvents } from '../helpers/plain-events.js';
import { countKinds } from '../helpers/read-trace.js';
import { collectRows } from '../helpers/scan-rows.js';
import { describeWithShared, SHARED } from '../helpers/shared.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Larger ones are compared by counts: a plain parse that keeps every digit takes a second per 5 MB. */
const EVERY_FIELD_BELOW = SOAK ? 2_500_000 : 1_500_000;
/** Ranks of one run are written alike: one of them stands for all where every field is compared. */
const OTHER_RANK = /rank-?[1-9]\d*\.json/;

const tracesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((f) => /\.json(?:\.gz)?$/.test(f) && !/truth|expected|straggler\/|result-|m[sw]-/.test(f))
    .map((f) => join(folder, f));

function rawText(file: string): Buffer {
  const bytes = readFileSync(file);
  return bytes[0] === 0x1f ? gunzipSync(bytes) : bytes;
}

function plainCounts(raw: Buffer): Record<string, number> {
  const document = JSON.parse(raw.toString('utf8')) as
    | { traceEvents: { ph: string; cat?: string }[] }
    | { ph: string }[];
  const counts: Record<string, number> = {};
  for (const e of (Array.isArray(document) ? document : document.traceEvents) as {
    ph: string;
    cat?: string;
  }[]) {
    const key = `${e.ph}:${e.cat ?? ''}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

describe('shipped traces', () => {
  const files = ['test/fixtures/zoo-ranks', 'zoo/fixtures'].flatMap((f) => tracesIn(join(root, f)));
  it('the shipped traces exist', () => expect(files.length).toBeGreaterThan(4));
  countsAreThoseOfAPlainParse(files);
  fieldsAreThoseOfAPlainParse(files);
});

describeWithShared('peers', 'traces of other projects', () => {
  const files = tracesIn(join(SHARED, 'peers'));
  countsAreThoseOfAPlainParse(files);
  fieldsAreThoseOfAPlainParse(files);
});

// Written by the same programs as the shipped ones.
describeWithShared('zoo', 'traces of the whole zoo', () =>
  countsAreThoseOfAPlainParse(tracesIn(join(SHARED, 'zoo'))),
);

function countsAreThoseOfAPlainParse(files: readonly string[]): void {
  it.each(files.map((f) => [relative(root, f), f]))('%s has the counts of a plain parse', async (_, file) => {
    const { members } = await readFile(file, (m) => m);
    const [member] = members;
    if (member?.content.of !== 'trace') throw new Error(`not read as a trace: ${member?.kind}`);
    expect(member.problems).toEqual([]);
    expect(countKinds(member.content.trace)).toEqual(plainCounts(rawText(file)));
  });
}

function fieldsAreThoseOfAPlainParse(files: readonly string[]): void {
  const small = files.filter((f) => !OTHER_RANK.test(f) && rawText(f).length < EVERY_FIELD_BELOW);
  it.each(small.map((f) => [relative(root, f), f]))('%s has every field of a plain parse', (_, file) => {
    const raw = rawText(file);
    const expected = expectedRows(plainEvents(raw.toString('utf8')));
    const open = raw.indexOf('[', raw.indexOf('"traceEvents"')) + 1;
    const { rows, kinds, flows, baseNs } = collectRows(WasmScanner.create()!, raw.subarray(open), [65536]);
    expect(rows.length).toBe(expected.rows.length);
    for (let i = 0; i < rows.length; i++) expect(rows[i]).toEqual(expected.rows[i]);
    expect({ kinds, flows, baseNs }).toEqual({
      kinds: expected.kinds,
      flows: expected.flows,
      baseNs: expected.baseNs,
    });
  });
}
