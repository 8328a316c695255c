import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { awaitNodes, factsFolder, factsOfTraces, leaveNote, placeOf } from './nodes.js';

const WELL = { code: 0, signal: null, failure: null };

/** As capture writes it (nodes.py). */
function state(out: string, launch: string, rank: number, more: object = {}, job = 'a-job'): void {
  const folder = join(out, '.whyslow/nodes', job);
  mkdirSync(folder, { recursive: true });
  const place = { rank, local_rank: rank % 2, world_size: 6, local_world_size: 2, measured: null };
  const content = JSON.stringify({ ...place, first_node: 'node-0', ...more });
  writeFileSync(join(folder, `${launch}-${rank}.json`), content);
}

async function places(out: string) {
  for (const [rank, launch] of ['a', 'a', 'b', 'b', 'c', 'c'].entries()) state(out, launch, rank);
  return { first: (await placeOf(out, 'a'))!, second: (await placeOf(out, 'b'))! };
}

it('the files of its ranks show which node is the first: the one with rank 0', () =>
  inFolder(async (out) => {
    const { first, second } = await places(out);
    expect(first).toMatchObject({ isFirst: true, ranks: [0, 1], elsewhere: [2, 3, 4, 5] });
    expect(second).toMatchObject({ isFirst: false, ranks: [2, 3], elsewhere: [0, 1, 4, 5] });
    expect([...second.visible].sort()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await placeOf(out, 'other')).toBeNull();
  }));

it('a node knows which ranks elsewhere are measured, and its own ranks that are not', () =>
  inFolder(async (out) => {
    state(out, 'a', 0, { measured: [0, 4] });
    expect(await placeOf(out, 'a')).toMatchObject({ ranks: [0, 1], elsewhere: [4] });
  }));

it('if one launch started several jobs, the newest one counts', () =>
  inFolder(async (out) => {
    state(out, 'a', 0, { world_size: 4 }, 'newer');
    state(out, 'a', 0, { world_size: 6 }, 'older');
    utimesSync(join(out, '.whyslow/nodes/older/a-0.json'), 1e9, 1e9);
    expect(await placeOf(out, 'a')).toMatchObject({ elsewhere: [2, 3] });
  }));

it.each([{ world_size: -1 }, { world_size: 'six' }, { world_size: 1e9 }])(
  'the place of a node is unknown if its file has %o',
  (wrong) =>
    inFolder(async (out) => {
      state(out, 'a', 0, wrong);
      expect(await placeOf(out, 'a')).toBeNull();
    }),
);

it('waiting for other nodes ends when all have reported, and passes on how their command ended', () =>
  inFolder(async (out) => {
    const { first, second } = await places(out);
    const third = (await placeOf(out, 'c'))!;
    await leaveNote(second, { ...WELL, code: 137, signal: 'SIGKILL' }, true);
    await leaveNote(third, WELL, false);
    let polls = 0;
    const waiting = await awaitNodes(first, 60_000, ({ missing }) => {
      if (polls++ > 0) return;
      expect(missing).toEqual([4, 5]);
      void leaveNote(third, WELL, true);
    });
    expect(waiting.missing).toEqual([]);
    expect(waiting.nodes.map((n) => n.failure).sort()).toEqual(['SIGKILL', null]);
    expect(polls).toBeGreaterThan(0);
  }));

it('waiting for other nodes ends after the time limit, with the ranks that did not report', () =>
  inFolder(async (out) => {
    const { first } = await places(out);
    const { missing } = await awaitNodes(first, 300, () => {});
    expect(missing).toEqual([2, 3, 4, 5]);
  }));

it('a note that is damaged or not ours does not count as a report', () =>
  inFolder(async (out) => {
    const { first } = await places(out);
    const notes = [
      '{"host": "h", "ranks": ["../2"], "isDone": true}',
      '[]',
      '{"ranks": [2',
      '{"ranks": [2]}',
    ];
    for (const [i, text] of notes.entries()) writeFileSync(join(first.folder, `n${i}.note`), text);
    expect((await awaitNodes(first, 0, () => {})).nodes).toEqual([]);
  }));

it('the first node does not wait for ranks that write into another folder', () =>
  inFolder(async (out) => {
    for (const rank of [0, 1]) state(out, 'a', rank);
    const first = (await placeOf(out, 'a'))!;
    let polls = 0;
    await awaitNodes(first, 60_000, () => polls++);
    expect(polls).toBe(0);
    expect(first.elsewhere).toEqual([2, 3, 4, 5]);
  }));

it('facts of a trace are used unless the trace is newer', () =>
  inFolder(async (out) => {
    const [used, old] = [1, 2].map((rank) => join(out, `traces/step_6/rank-${rank}-coord-0-trace.json.gz`));
    for (const trace of [used!, old!])
      for (const file of [trace, `${factsFolder(out)}${trace.slice(out.length)}.facts`]) {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, 'x');
        if (file === trace) utimesSync(file, 1e9, 1e9);
      }
    utimesSync(old!, new Date(), new Date(Date.now() + 60_000));
    expect([...(await factsOfTraces(out, (rank) => rank > 0)).keys()]).toEqual([used]);
  }));
