import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cyclesIn, graphOf, importsOf, layerOf, sourceFiles, sourceText } from './import-graph.js';
import { pictureOf } from './picture.js';

/** Who may import whom: the one-way flow of ARCHITECTURE.md. Tests may import anything. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  remedies: ['base'],
  model: ['base'],
  sources: ['base'],
  readers: ['base', 'model', 'telemetry', 'memory'],
  memory: ['base', 'model'],
  facts: ['base'],
  replay: ['base', 'facts'],
  traces: ['base', 'model', 'facts', 'replay'],
  logs: ['base', 'model', 'facts'],
  telemetry: ['base', 'model', 'facts'],
  drawing: ['base', 'model', 'facts', 'traces'],
  ingest: ['base', 'model', 'sources', 'readers', 'traces', 'drawing', 'logs', 'facts'],
  run: ['base', 'model', 'facts', 'logs', 'telemetry'],
  diagnosis: ['base', 'model', 'facts', 'replay', 'traces', 'logs', 'telemetry', 'memory', 'ingest', 'run'],
  answers: [
    'base',
    'remedies',
    'model',
    'facts',
    'traces',
    'telemetry',
    'ingest',
    'run',
    'diagnosis',
    'machine',
    'triage',
  ],
  rules: ['base', 'remedies', 'facts', 'replay', 'traces', 'telemetry', 'run', 'diagnosis', 'answers'],
  report: [
    'base',
    'model',
    'facts',
    'traces',
    'logs',
    'telemetry',
    'ingest',
    'run',
    'diagnosis',
    'rules',
    'machine',
    'triage',
    'answers',
  ],
  tables: ['base', 'model', 'facts', 'traces', 'ingest', 'run', 'diagnosis', 'rules', 'answers'],
  rewrite: [
    'base',
    'model',
    'facts',
    'sources',
    'readers',
    'traces',
    'ingest',
    'run',
    'diagnosis',
    'answers',
  ],
  timeline: ['base', 'model', 'facts', 'drawing', 'ingest', 'run', 'answers'],
  lint: ['base', 'remedies'],
  render: [
    'base',
    'remedies',
    'facts',
    'report',
    'rules',
    'lint',
    'doctor',
    'compare',
    'trial',
    'page',
    'timeline',
    'watch',
  ],
  library: [
    'base',
    'facts',
    'ingest',
    'diagnosis',
    'rules',
    'report',
    'lint',
    'compare',
    'tables',
    'rewrite',
    'sources',
    'drawing',
    'timeline',
    'page',
    'answers',
  ],
  launch: ['base', 'model', 'machine'],
  watch: ['base', 'remedies', 'model', 'readers', 'logs', 'launch'],
  machine: ['base', 'model'],
  compare: ['base', 'facts', 'ingest', 'diagnosis', 'rules', 'report', 'answers'],
  trial: ['base', 'remedies', 'lint', 'launch', 'compare'],
  triage: ['base', 'model', 'readers', 'telemetry', 'machine'],
  doctor: ['base', 'remedies', 'telemetry', 'machine'],
  cli: [
    'base',
    'remedies',
    'library',
    'render',
    'launch',
    'machine',
    'triage',
    'doctor',
    'trial',
    'watch',
    'server',
    'engines',
    'mcp',
    'answers',
    'report',
  ],
  page: [
    'base',
    'model',
    'facts',
    'replay',
    'telemetry',
    'ingest',
    'run',
    'diagnosis',
    'rules',
    'report',
    'answers',
  ],
  server: ['base', 'drawing', 'library', 'render', 'page'],
  engines: ['base'],
  mcp: ['base', 'library', 'render', 'launch'],
};
/** Outside packages, by the layer that may use them. Everything else is Node's own. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  sources: ['fzstd', 'yauzl', 'tinyglobby', 'aws4fetch'],
  tables: ['hyparquet', 'hyparquet-writer', '@duckdb'],
  lint: ['@lezer'],
  render: ['picocolors'],
  cli: ['commander', 'picocolors'],
  mcp: ['@modelcontextprotocol', 'zod'],
};
/** Layers that read files, start threads or processes. All others only compute. */
const TOUCHES_THE_MACHINE = [
  'sources',
  'readers',
  'ingest',
  'report',
  'library',
  'launch',
  'machine',
  'trial',
  'watch',
  'tables',
  'rewrite',
  'server',
  'engines',
  'mcp',
  'cli',
];
const NODE_IO = /^node:(?:fs|net|http|https|child_process|worker_threads|zlib|dgram)/;

const files = sourceFiles();

describe('layers', () => {
  it('finds the files it is about', () => {
    expect(files.length).toBeGreaterThan(40);
    expect([...new Set(files.map(layerOf))].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  it.each(files)('%s imports only what its layer may', (file) => {
    const layer = layerOf(file);
    const wrong = importsOf(file).filter(({ target, own }) => {
      if (target.startsWith('node:')) return !TOUCHES_THE_MACHINE.includes(layer) && NODE_IO.test(target);
      if (!own) return !PACKAGES[layer]?.includes(target.split('/')[0]!);
      return layerOf(target) !== layer && !MAY_IMPORT[layer]!.includes(layerOf(target));
    });
    expect(wrong).toEqual([]);
  });

  it('lists no permission that nobody uses', () => {
    const used = graphOf(files, layerOf);
    const unused = Object.entries(MAY_IMPORT).flatMap(([from, targets]) =>
      targets.filter((to) => !used.get(from)?.has(to)).map((to) => `${from} → ${to}`),
    );
    expect(unused).toEqual([]);
  });
});

describe('folders', () => {
  it('import each other without a cycle, at any depth', () => {
    expect(cyclesIn(graphOf(files, dirname))).toEqual([]);
  });

  it('keep formats apart: a reader does not import another', () => {
    const crossing = files
      .filter((f) => f.startsWith('readers/') && f.split('/').length > 2)
      .flatMap((f) => importsOf(f))
      .filter(({ file, target }) => target.startsWith('readers/') && dirname(target) !== dirname(file))
      .filter(({ target }) => !target.startsWith('readers/common/'));
    expect(crossing).toEqual([]);
  });

  it('keep rules apart: a rule does not import another', () => {
    const crossing = files
      .filter((f) => f.startsWith('rules/') && !f.startsWith('rules/kit/') && f.split('/').length > 2)
      .flatMap((f) => importsOf(f))
      .filter(({ file, target }) => target.startsWith('rules/') && dirname(target) !== dirname(file))
      .filter(({ target }) => !target.startsWith('rules/kit/'));
    expect(crossing).toEqual([]);
  });

  it('are drawn in ARCHITECTURE.md as they are (npm run architecture draws them again)', () => {
    const document = readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8');
    expect(document).toContain(pictureOf(files));
  });
});

describe('files', () => {
  it('import each other without a cycle', () => {
    expect(cyclesIn(graphOf(files, (file) => file.replace(/\.js$/, '.ts')))).toEqual([]);
  });
});

it('only the server for agents loads zod, and nothing loads a schema: schemas/ is for documents and tests', () => {
  const loads = /^import [^;]*'(?:zod|[^']*schemas\/[^']*)'/m;
  expect(files.filter((f) => !f.startsWith('mcp/') && loads.test(sourceText(f)))).toEqual([]);
});

it('only the servers of the page and of metrics listen on a port, and only on loopback', () => {
  const listening = files.filter((f) => /\bcreateServer\b|\.listen\(/.test(sourceText(f)));
  expect(listening).toEqual(['server/serve-metrics.ts', 'server/serve.ts']);
  for (const file of listening)
    expect(sourceText(file).match(/\.listen\(.*/g)).toEqual([".listen(port, '127.0.0.1', resolve);"]);
});
