import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';

const FIXTURES = fileURLToPath(new URL('../../zoo/fixtures', import.meta.url));
/** Loops whose answer rests on a mark: each has the reason. */
const DIFFERS: Readonly<Record<string, string>> = {
  epoch_respawn: 'without marks, the end of an epoch is not seen as a restart of its workers',
};

interface Event {
  readonly name?: string;
  readonly cat?: string;
  readonly ph?: string;
  readonly ts?: number;
  readonly tid?: number;
}

const names = readdirSync(FIXTURES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);
const firstFixes = ({ findings }: Report) => findings.slice(0, 2).map((f) => f.id);

describe('a zoo trace without ProfilerStep marks', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'whyslow-marks-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(names.filter((name) => !(name in DIFFERS)))(
    '%s keeps its verdict, first fixes and step',
    async (name) => {
      const path = join(FIXTURES, name, 'rank0.json.gz');
      const trace = JSON.parse(gunzipSync(readFileSync(path)).toString()) as { traceEvents: Event[] };
      const traceEvents = trace.traceEvents.filter((event) => !event.name?.startsWith('ProfilerStep#'));
      expect(traceEvents.length).toBeLessThan(trace.traceEvents.length);
      const copy = join(folder, `${name}.json`);
      writeFileSync(copy, JSON.stringify({ ...trace, traceEvents }));
      const [marked, unmarked] = [await diagnose(path), await diagnose(copy)];
      expect(unmarked.verdict.bottleneck).toBe(marked.verdict.bottleneck);
      expect(firstFixes(unmarked)).toEqual(firstFixes(marked));
      expect(unmarked.step.ms! / marked.step.ms!).toBeGreaterThan(0.85);
      expect(unmarked.step.ms! / marked.step.ms!).toBeLessThan(1.15);
    },
  );
});
