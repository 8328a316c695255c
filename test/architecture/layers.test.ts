import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** Who may import whom: the one-way flow of ARCHITECTURE.md. Tests may import anything. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  model: ['base'],
  sources: ['base'],
  readers: ['base', 'model'],
  analyses: ['base', 'model'],
  rules: ['base', 'model', 'analyses'],
  ingest: ['base', 'model', 'sources', 'readers', 'analyses', 'rules'],
  report: ['base', 'model', 'analyses', 'rules', 'ingest'],
  render: ['base', 'analyses', 'rules', 'report'],
  launch: ['base'],
  cli: ['base', 'ingest', 'rules', 'report', 'render', 'launch'],
};
/** Outside packages, by the layer that may use them. Everything else is Node's own. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  sources: ['fzstd', 'yauzl', 'tinyglobby'],
  readers: ['hyparquet', 'fzstd'],
  report: ['zod'],
  render: ['picocolors'],
  cli: ['commander', 'picocolors'],
};
/** Layers that compute and must not touch files, network or the clock of the machine. */
const PURE = ['base', 'model', 'analyses', 'rules'];
const NODE_IO = /^node:(?:fs|net|http|https|child_process|worker_threads|zlib|dgram)/;

function sourceFiles(): string[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (f) => f.endsWith('.ts') && !isTest(f),
  );
}
const isTest = (file: string) => /\.test\.ts$|(?:^|\/)testing(?:\.ts$|\/)/.test(file);

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8');
  return [...text.matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\(\s*)'([^']+)'/g)].map((m) => m[1]!);
}

const layerOf = (file: string) => file.split('/')[0]!;

describe('layers', () => {
  const files = sourceFiles().filter((f) => f !== 'index.ts');

  it('finds the files it is about', () => {
    expect(files.length).toBeGreaterThan(40);
    expect([...new Set(files.map(layerOf))].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  it.each(files)('%s imports only what its layer may', (file) => {
    const layer = layerOf(file);
    const wrong = importsOf(file).filter((target) => {
      if (target.startsWith('node:')) return PURE.includes(layer) && NODE_IO.test(target);
      if (!target.startsWith('.')) return !PACKAGES[layer]?.includes(target.split('/')[0]!);
      const to = layerOf(relative(src, normalize(join(src, dirname(file), target))));
      return to !== layer && !MAY_IMPORT[layer]!.includes(to);
    });
    expect(wrong).toEqual([]);
  });

  it('keeps formats apart: a reader does not import another', () => {
    const crossing = files
      .filter((f) => f.startsWith('readers/') && f.split('/').length > 2)
      .flatMap((f) =>
        importsOf(f).filter(
          (t) => t.startsWith('../') && /^\.\.\/(?:kineto|events|operations|manifest|dmon)\//.test(t),
        ),
      );
    expect(crossing).toEqual([]);
  });

  it('does not ship zod: the schema is for types, documents and tests', () => {
    const loads =
      /^import (?!type\b)[^;]*'(?:zod|[^']*(?:report-schema|report-json-schema|finding-schema)\.js)'/m;
    const loading = files.filter((f) => loads.test(readFileSync(join(src, f), 'utf8')));
    expect(loading.sort()).toEqual([
      'report/finding-schema.ts',
      'report/report-json-schema.ts',
      'report/report-schema.ts',
    ]);
  });
});
