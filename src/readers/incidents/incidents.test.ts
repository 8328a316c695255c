import fc from 'fast-check';
import { expect, it } from 'vitest';
import { watchSimulated } from '../../../test/helpers/watched-job.js';
import { findReader } from '../registry.js';
import { incidentsReader } from './descriptor.js';
import { incidentIn } from './incident-line.js';

const [INCIDENT] = watchSimulated({ steps: 4000, of: (step) => (step < 2000 ? {} : { data: 40 }) });
const LINE = JSON.stringify(INCIDENT);

it('incidents.jsonl is recognized, and a later line replaces an earlier one of the same run', () => {
  expect(findReader(Buffer.from(`${LINE}\n`))?.id).toBe('incidents');
  const ended = JSON.stringify({ ...INCIDENT, state: 'ended', until_step: 3000 });
  const other = JSON.stringify({ ...INCIDENT, run: 'another' });
  const reader = incidentsReader.create({});
  reader.push(Buffer.from(`${LINE}\n${other}\n{"odd":1}\n${ended}\n${LINE.slice(0, 90)}`));
  const { incidents, problems } = reader.finish();
  expect(incidents.map((i) => [i.run, i.state])).toEqual([
    ['simulated', 'ended'],
    ['another', 'open'],
  ]);
  expect(problems.map((p) => p.code)).toEqual(['odd-line', 'cut-line']);
});

it('a list of incidents cut anywhere reads as its first lines', () => {
  const text = Buffer.from(`${LINE}\n`.repeat(3));
  fc.assert(
    fc.property(fc.nat(text.length), fc.integer({ min: 1, max: 999 }), (end, size) => {
      const reader = incidentsReader.create({});
      for (let at = 0; at < end; at += size) reader.push(text.subarray(at, Math.min(end, at + size)));
      expect(reader.finish().incidents.length).toBe(end >= LINE.length ? 1 : 0);
    }),
  );
});

it.each([
  '',
  '{',
  '7',
  'null',
  '{"schema":"whyslow/incident/1"}',
  '{"schema":"whyslow/incident/1","ranks":[{}]}',
  JSON.stringify({ ...INCIDENT, ranks: [-1] }),
  JSON.stringify({ ...INCIDENT, until_step: 1e300 }),
  JSON.stringify({ ...INCIDENT, after_ms: -140 }),
  JSON.stringify({ ...INCIDENT, sentence: 'x'.repeat(5000) }),
  JSON.stringify({ ...INCIDENT, kind: 'toString' }),
])('a line that is no incident is left out: %.60s', (line) => expect(incidentIn(line)).toBeNull());
