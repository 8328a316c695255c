import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { groupBy } from '../../src/base/group-by.js';
import { merge, slim } from '../../src/library/rewrite.js';
import { startBrowser } from '../helpers/browser.js';
import { SOAK } from '../helpers/cases.js';
import { inFolder, root } from '../helpers/cli.js';
import { describeWithPerfetto, inPerfetto, type PerfettoQuery } from '../helpers/perfetto.js';
import { SHARED } from '../helpers/shared.js';
import { type ChromeTrace, faultsOf, readChrome } from '../helpers/strict-chrome.js';

const ZOO = join(root, 'zoo/fixtures');
const RANKS = join(root, 'test/fixtures/zoo-ranks');
const PEERS = join(SHARED, 'peers');
/** Of other projects, in `npm run soak` where they are at hand. */
const others =
  SOAK && existsSync(PEERS)
    ? readdirSync(PEERS, { recursive: true, encoding: 'utf8' }).filter((name) => /\.json\.gz$/.test(name))
    : [];
const loops = SOAK ? readdirSync(ZOO).filter((name) => !name.endsWith('.json')) : ['data_io_w0'];
const slimmed = [
  ...loops.map((name) => join(ZOO, name, 'rank0.json.gz')),
  ...others.map((f) => join(PEERS, f)),
];
const runs = SOAK ? readdirSync(RANKS) : ['straggler_host'];

/** What Perfetto should show of a file, counted here by reading its JSON. */
function contentOf({ events }: ChromeTrace) {
  const slices = events.filter((e) => e.ph === 'X');
  const instants = events.filter((e) => e.ph === 'i' || e.ph === 'I' || e.ph === 'B');
  const flows = groupBy(
    events.filter((e) => 'stf'.includes(e.ph)),
    (e) => `${e.cat} ${e.name} ${e.id}`,
  );
  const used = new Set(slices.map((e) => e.pid));
  const named = new Map(
    events.flatMap((e) => (e.name === 'process_name' ? [[e.pid, String(e.args!.name)]] : [])),
  );
  // Kineto has processes whose id is their name.
  const processes = [...used].flatMap((pid) => named.get(pid) ?? (typeof pid === 'string' ? [pid] : []));
  return {
    slices: slices.length + instants.length,
    ns: slices.reduce((sum, e) => sum + Math.round(e.dur! * 1000), 0),
    arrows: [...flows.values()].reduce((sum, list) => sum + list.length - 1, 0),
    processes: [...new Set(processes)].sort(),
    // Whole µs: in ns since 1970, doubles are 256 ns apart.
    startUs: Math.floor(slices.reduce((least, e) => Math.min(least, e.ts!), 1e300)),
  };
}

async function shownBy(query: PerfettoQuery): Promise<ReturnType<typeof contentOf>> {
  const [total] = await query(
    `SELECT count(*) AS slices, sum(dur) AS ns, (SELECT count(*) FROM flow) AS arrows,
     (SELECT start_ts FROM trace_bounds) AS start FROM slice`,
  );
  const names = await query(
    `SELECT DISTINCT p.name FROM process p JOIN thread USING (upid) JOIN thread_track USING (utid)
     JOIN slice ON slice.track_id = thread_track.id WHERE p.name IS NOT NULL AND slice.dur > 0`,
  );
  return {
    slices: Number(total!.slices),
    ns: Number(total!.ns),
    arrows: Number(total!.arrows),
    processes: names.map((row) => String(row.name)).sort(),
    startUs: Number(BigInt(total!.start!) / 1000n),
  };
}

/** Everything that Perfetto counts as an error, as data that it lost, or as an arrow without a start. */
const complaintsOf = (query: PerfettoQuery) =>
  query(`SELECT name, value FROM stats WHERE value > 0 AND (severity <> 'info' OR name GLOB 'flow_*')`);

describeWithPerfetto('rewritten traces in Perfetto', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  const check = async (file: string) => {
    const chrome = readChrome(file);
    expect(faultsOf(chrome)).toEqual([]);
    await inPerfetto(browser, file, async (query) => {
      expect(await complaintsOf(query)).toEqual([]);
      expect(await shownBy(query)).toEqual(contentOf(chrome));
    });
  };

  it.each(slimmed)('%s, slimmed', (trace) =>
    inFolder(async (folder) => {
      const out = join(folder, 'slim.json.gz');
      const keep = { steps: null, drop: [], max: null, force: false };
      await slim(trace, { ...keep, out });
      await check(out);
    }),
  );

  it.each(runs)('%s, merged', (name) =>
    inFolder(async (folder) => {
      const out = join(folder, 'merged.json.gz');
      await merge(join(RANKS, name), { steps: null, drop: [], force: false, jobs: 1, out });
      await check(out);
    }),
  );

  it('complains about faults that the strict reader finds', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'faulty.json');
      const event = (ph: string, tid: number, ts: number, more: object = {}) => ({
        ...{ ph, ts, name: 'a', pid: 1, tid },
        ...more,
      });
      const flow = (ph: string, tid: number, ts: number) =>
        event(ph, tid, ts, { cat: 'c', id: tid, bp: 'e' });
      const traceEvents = [
        ...[1, 2, 3, 4, 5].map((tid) => event('X', tid, 100, { dur: 50 })),
        event('X', 1, 120, { dur: 50 }),
        event('X', 2, -20, { dur: 5 }),
        flow('f', 3, 110),
        ...[flow('t', 4, 110), flow('s', 4, 120)],
        ...[flow('s', 5, 200), flow('f', 5, 300)],
      ];
      writeFileSync(file, JSON.stringify({ traceEvents }));
      expect(faultsOf(readChrome(file)).map((fault) => fault.replace(/: \{.*/, ''))).toEqual([
        'no ts, or a negative one',
        'overlap on 1/1: a at 120',
        'flow c a 3: f',
        'flow c a 3 starts after another part of it',
        'flow c a 4 starts after another part of it',
        'flow c a 5 in no slice at 200',
        'flow c a 5 in no slice at 300',
      ]);
      const complaints = await inPerfetto(browser, file, complaintsOf);
      // It ignores arrows that touch no slice, and nobody sees them.
      expect(complaints.map((row) => row.name).sort()).toEqual([
        'flow_end_without_start',
        'flow_step_without_start',
        'slice_drop_overlapping_complete_event',
        'trace_sorter_negative_timestamp_dropped',
      ]);
    }));
});
