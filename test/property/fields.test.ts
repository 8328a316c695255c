import { describe, expect, it } from 'vitest';
import { Trace } from '../../src/model/trace.js';
import { eventsReader } from '../../src/readers/events/descriptor.js';
import { checkTrace } from '../../src/traces/checks/trace-checks.js';
import { summarizeTrace } from '../../src/traces/trace-summary.js';
import { SOAK } from '../helpers/cases.js';
import { HEADER } from '../helpers/hostile/documents.js';
import { rankEvents } from '../helpers/hostile/events.js';
import { VALUES } from '../helpers/hostile/mutate.js';
import { RANK, RUN, read as readManifest } from '../helpers/manifests.js';
import { readTrace } from '../helpers/read-trace.js';
import { readCut } from '../helpers/readers.js';

/** As text: some are too deep, or too large, to be made from a value. */
const TEXTS: readonly string[] = [
  ...VALUES.map((value) => JSON.stringify(value)),
  ...[
    `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
    '9'.repeat(10_000),
    '1e999',
    'NaN',
    `"${'x'.repeat(100_000)}"`,
  ],
];

/** Every field below a value, as a path. */
const pathsOf = (value: unknown): string[][] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([key, child]) => [
        [key],
        ...pathsOf(child).map((path) => [key, ...path]),
      ]);

/** The JSON of `document` with another text for one of its fields. */
function withField(document: object, path: readonly string[], text: string): string {
  const copy = structuredClone(document) as Record<string, unknown>;
  const parent = path.slice(0, -1).reduce((at, key) => at[key] as Record<string, unknown>, copy);
  parent[path.at(-1)!] = '@@';
  return JSON.stringify(copy).replace('"@@"', () => text);
}

const EVENTS = rankEvents(8, 4, () => ({}));
const ROW = '{"name":"iteration","step":1,"rank":0,"duration_ms":5,"start_ms":5,"clock":"gpu","run":"r-1"}';

/** Reads a document and uses what was read. */
const DOCUMENTS: readonly (readonly [string, object, (text: string) => void])[] = [
  [
    'header of a trace',
    HEADER,
    (text) => {
      const { trace } = readTrace(
        `${text.slice(0, -1)},"traceEvents":${JSON.stringify(EVENTS)}}`,
        [1 << 20],
        'js',
      );
      expect(trace.rows).toBeGreaterThan(0);
      summarizeTrace(new Trace(trace));
      checkTrace(new Trace(trace));
    },
  ],
  ['manifest of a rank', RANK, (text) => void readManifest(text)],
  ['manifest of a run', RUN, (text) => void readManifest(text)],
  [
    'header of a log',
    { ...RANK, world_size: 2, mesh: RUN.mesh },
    (text) => expect(readCut(eventsReader, `${text}\n${ROW}\n`, []).log.runs).toBeInstanceOf(Array),
  ],
];

describe.each(DOCUMENTS)('%s', (_, document, use) => {
  // In `npm test` every third text for a field, other ones for the next; in `npm run soak` all.
  const textsOf = (field: number) => TEXTS.filter((_text, i) => SOAK || i % 3 === field % 3);
  it.each(pathsOf(document).map((path, field) => [path.join('.'), path, textsOf(field)] as const))(
    '%s may hold anything',
    (_name, path, texts) => {
      for (const text of texts) use(withField(document, path, text));
    },
  );
});
