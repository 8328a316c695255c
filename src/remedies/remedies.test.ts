import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sourceFiles, sourceText } from '../../test/architecture/import-graph.js';
import { CODE_COLUMNS } from '../../test/helpers/draw-run.js';
import { REMEDIES } from './fixes/list.js';
import { FRAMEWORKS } from './frameworks.js';
import { UNKNOWN_JOB } from './kit/job.js';
import { pythonData } from './python-data.js';
import { advise, pasteLines, TRIALS, use } from './remedies.js';

const PYTHON = new URL('../../python/src/', import.meta.url);
const combinations = REMEDIES.flatMap(({ id }) => FRAMEWORKS.map((f) => [id, f.id] as const));

describe('the catalog of fixes', () => {
  it('has every id once, for remedies and for frameworks', () => {
    expect(new Set(REMEDIES.map(({ id }) => id)).size).toBe(REMEDIES.length);
    expect(new Set(FRAMEWORKS.map(({ id }) => id)).size).toBe(FRAMEWORKS.length);
  });

  it('has every file of fixes in its list', () => {
    const path = new URL('./fixes/', import.meta.url);
    const list = readFileSync(new URL('list.ts', path), 'utf8');
    const files = readdirSync(path).filter((f) => !/^list\.ts$|\.test\.ts$/.test(f));
    expect(files.filter((f) => !list.includes(`'./${f.replace(/\.ts$/, '.js')}'`))).toEqual([]);
  });

  it('has every framework in its list', () => {
    const source = readFileSync(new URL('./frameworks.ts', import.meta.url), 'utf8');
    const columns = [...source.matchAll(/^const (\w+): Framework = /gm)];
    expect(columns.length).toBe(FRAMEWORKS.length);
  });

  it.each(combinations)('spells %s for %s: a text, and code that fits the terminal', (id, framework) => {
    const { fix } = advise(use(id), framework);
    expect(fix.text.length).toBeGreaterThan(10);
    expect(fix.code.length).toBeGreaterThan(3);
    expect(fix.code.split('\n').filter((line) => line.length > CODE_COLUMNS + 7)).toEqual([]);
  });

  it.each(REMEDIES.filter((r) => 'inference' in r).map(({ id }) => [id]))(
    'spells %s for forward passes without a loss, an optimizer and batches',
    (id) => {
      const { text, code } = advise(use(id), null, true).fix;
      expect(`${text}\n${code}`).not.toMatch(/loss|backward|optimizer|batch/i);
      expect(code.split('\n').filter((line) => line.length > CODE_COLUMNS)).toEqual([]);
      // A framework that trains has nothing to say about it.
      expect(advise(use(id), 'lightning', true).fix).toEqual({ text, code });
    },
  );

  it('records a serving engine with its own profiler', () => {
    const { code } = advise(use('record-trace', { job: UNKNOWN_JOB, ownProfiler: true })).fix;
    expect(code).toMatch(/start_profile/);
    expect(code).not.toMatch(/train\.py/);
  });

  it('spells only remedies that exist, in every column', () => {
    const ids: readonly string[] = REMEDIES.map(({ id }) => id);
    expect(FRAMEWORKS.flatMap(({ spell }) => Object.keys(spell)).filter((id) => !ids.includes(id))).toEqual(
      [],
    );
  });

  it('joins the settings of one call when several fixes are pasted together', () => {
    const uses = [use('tf32'), use('loader-workers', { workers: 12, cores: null }), use('compile')];
    expect(pasteLines(uses, 'transformers')).toEqual([
      'TrainingArguments(...,',
      '    tf32=True,',
      '    dataloader_num_workers=12,',
      '    dataloader_persistent_workers=True,',
      '    torch_compile=True)',
    ]);
    expect(pasteLines(uses, 'a framework nobody knows')).toEqual(pasteLines(uses, 'plain'));
  });
});

describe('the Python part', () => {
  it('has the generated data as the catalog is now (npm run remedies writes it)', () => {
    for (const [path, text] of pythonData()) expect(readFileSync(new URL(path, PYTHON), 'utf8')).toBe(text);
  });

  it('applies every fix that has a trial, and no other', () => {
    const folder = new URL('whyslow_trials/fixes/', PYTHON);
    const named = readdirSync(folder)
      .filter((name) => name.endsWith('.py'))
      .flatMap((file) =>
        [
          ...readFileSync(new URL(file, folder), 'utf8').matchAll(/^ {4}name(?:: TrialId)? = "([\w-]+)"/gm),
        ].map((m) => m[1]!),
      );
    expect(named.sort()).toEqual(TRIALS.map(({ id }) => id).sort());
  });
});

/** Lines that people paste. Lint and the readers match some of them in source text, with escapes (`DataLoader\(`) or as keys. */
const PASTEABLE = [
  /DataLoader\(\S/,
  /torch\.compile\(\w/,
  /persistent_workers=True/,
  /set_float32_matmul_precision\("/,
  /fused=True\)/,
  /non_blocking=True\)/,
  /bucket_cap_mb=/,
  /TrainingArguments\([.…]/,
  /torch\.autocast\("/,
  /gc\.freeze\(\);?\s/,
  /expandable_segments:True/,
  /OMP_NUM_THREADS=[$\d<]/,
  /num_workers=[1-9N$…]/,
];

it('lines to paste are written only in src/remedies', () => {
  const found = sourceFiles()
    .filter((file) => !file.startsWith('remedies/'))
    .flatMap((file) =>
      sourceText(file)
        .split('\n')
        .filter((line) => !/^\s*(?:\/?\*|\/\/)/.test(line) && PASTEABLE.some((p) => p.test(line)))
        .map((line) => `${file}: ${line.trim().slice(0, 100)}`),
    );
  expect(found).toEqual([]);
});
