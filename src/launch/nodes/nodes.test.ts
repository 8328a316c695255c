import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../../test/helpers/folder.js';
import { visitMembers } from '../../sources/open.js';
import { FACTS_PATH, mostBytes, proofOf, STATE_HEADER } from './address.js';
import { awaitNodes } from './await-nodes.js';
import { writeBundle } from './bundle.js';
import { type NodeState, stateOf } from './node-state.js';
import { leaveNote } from './notes.js';
import { placeOf } from './place.js';
import { receiveFacts } from './receive.js';
import { sendFacts } from './send.js';

const WELL = { code: 0, signal: null, failure: null };
let jobs = 0;
/** A token of its own, and so a port of its own, for each test. */
const newJob = () => `job-${process.pid}-${jobs++}`;

/** As capture writes it (nodes.py). */
function state(out: string, job: string, launch: string, rank: number, more: object = {}): void {
  const name = createHash('sha256').update(job).digest('hex').slice(0, 16);
  const folder = join(out, '.whyslow/nodes', name);
  mkdirSync(folder, { recursive: true });
  const place = { job, rank, local_rank: rank % 2, world_size: 6, local_world_size: 2, measured: null };
  const content = JSON.stringify({ ...place, first_node: '127.0.0.1', ...more });
  writeFileSync(join(folder, `${launch}-${rank}.json`), content);
}

async function places(out: string, job = newJob()) {
  for (const [rank, launch] of ['a', 'a', 'b', 'b', 'c', 'c'].entries()) state(out, job, launch, rank);
  return { first: (await placeOf(out, 'a'))!, second: (await placeOf(out, 'b'))! };
}

describe('the place of a launch in its job', () => {
  it('is told by the files of its ranks: the first node has rank 0', () =>
    inFolder(async (out) => {
      const { first, second } = await places(out);
      expect(first).toMatchObject({ isFirst: true, ranks: [0, 1], elsewhere: [2, 3, 4, 5] });
      expect(second).toMatchObject({ isFirst: false, ranks: [2, 3], elsewhere: [0, 1, 4, 5] });
      expect([...second.visible].sort()).toEqual([0, 1, 2, 3, 4, 5]);
      expect(await placeOf(out, 'other')).toBeNull();
    }));

  it('waits only for ranks that are measured, and counts ranks here that are not', () =>
    inFolder(async (out) => {
      state(out, newJob(), 'a', 0, { measured: [0, 4] });
      expect(await placeOf(out, 'a')).toMatchObject({ ranks: [0, 1], elsewhere: [4] });
    }));

  it.each([
    ['a token of another folder', { job: 'another' }],
    ['no number of ranks', { world_size: -1 }],
    ['text', { job: 7 }],
  ])('is unknown with %s', (_, wrong) =>
    inFolder(async (out) => {
      state(out, newJob(), 'a', 0, wrong);
      expect(await placeOf(out, 'a')).toBeNull();
    }),
  );
});

describe('facts over the network', () => {
  it('arrive as one archive, under a name of ours', () =>
    inFolder(async (out) => {
      const { first, second } = await places(out);
      const heard: NodeState[] = [];
      const receiver = (await receiveFacts(first, out, (s) => heard.push(s)))!;
      const file = join(out, 'facts');
      writeFileSync(file, 'some facts');
      const until = AbortSignal.timeout(20_000);
      expect(await sendFacts(second, stateOf(second, WELL, false), null, until)).toBeNull();
      expect(await sendFacts(second, stateOf(second, WELL, true), file, until)).toBeNull();
      receiver.close();
      expect(heard.map((s) => s.isDone)).toEqual([false, true]);
      expect(readdirSync(join(out, 'nodes'))).toEqual(['from-rank-2.tar.gz']);
      expect(readFileSync(join(out, 'nodes/from-rank-2.tar.gz'), 'utf8')).toBe('some facts');
      expect(await sendFacts(second, stateOf(second, WELL, true), file, AbortSignal.abort())).toMatch(
        /refused/i,
      );
    }));

  it('are refused without the proof, of wrong ranks, too large, or under any other path', () =>
    inFolder(async (out) => {
      const { first } = await places(out);
      const heard: NodeState[] = [];
      const receiver = (await receiveFacts(first, out, (s) => heard.push(s)))!;
      const good = { host: 'h', ranks: [2, 3], isDone: true, failure: null };
      const ask = (state: object, more: object = {}, path = FACTS_PATH, method = 'PUT') =>
        new Promise<number>((resolve, reject) => {
          const headers = {
            authorization: proofOf(first.job),
            [STATE_HEADER]: JSON.stringify(state),
            'content-length': '0',
          };
          const all = { ...headers, ...more };
          if ('transfer-encoding' in more) delete (all as Partial<typeof headers>)['content-length'];
          const sent = request({ host: '127.0.0.1', port: receiver.port, method, path, headers: all });
          sent.once('response', (r) => resolve(r.resume().statusCode!)).once('error', reject);
          sent.end();
        });
      expect(await ask(good, { authorization: proofOf('guess') })).toBe(401);
      expect(await ask(good, { authorization: '' })).toBe(401);
      expect(await ask(good, {}, '/../facts')).toBe(404);
      expect(await ask(good, {}, FACTS_PATH, 'GET')).toBe(404);
      expect(await ask({ ...good, ranks: [0] })).toBe(400);
      expect(await ask({ ...good, ranks: [77] })).toBe(400);
      expect(await ask({ ...good, ranks: ['../2'] })).toBe(400);
      expect(await ask([])).toBe(400);
      expect(await ask(good, { 'content-length': `${mostBytes(2) + 1}` })).toBe(413);
      expect(await ask(good, { 'transfer-encoding': 'chunked' })).toBe(411);
      receiver.close();
      expect(heard).toEqual([]);
      expect(readdirSync(out)).toEqual(['.whyslow']);
    }));
});

describe('waiting for other nodes', () => {
  it('ends when all have told, and passes on how their command ended', () =>
    inFolder(async (out) => {
      const job = newJob();
      const { first, second } = await places(out, job);
      const third = (await placeOf(out, 'c'))!;
      await leaveNote(second, stateOf(second, { ...WELL, code: 137, signal: 'SIGKILL' }, true));
      await leaveNote(third, stateOf(third, WELL, false));
      let polls = 0;
      const waiting = await awaitNodes(first, out, 60_000, ({ missing }) => {
        if (polls++ > 0) return;
        expect(missing).toEqual([4, 5]);
        void leaveNote(third, stateOf(third, WELL, true));
      });
      expect(waiting.missing).toEqual([]);
      expect(waiting.nodes.map((n) => n.failure).sort()).toEqual(['SIGKILL', null]);
      expect(polls).toBeGreaterThan(0);
    }));

  it('ends after the time limit, with the ranks of which nothing came', () =>
    inFolder(async (out) => {
      const job = newJob();
      // Not a shared folder: only the files of the first node.
      for (const rank of [0, 1]) state(out, job, 'a', rank);
      const first = (await placeOf(out, 'a'))!;
      const { missing } = await awaitNodes(first, out, 300, () => {});
      expect(missing).toEqual([2, 3, 4, 5]);
    }));
});

it('a bundle holds what fits, in order, and names the rest', () =>
  inFolder(async (folder) => {
    const noise = createHash('shake256', { outputLength: 5000 }).update('x').digest();
    writeFileSync(join(folder, 'a'), 'first');
    writeFileSync(join(folder, 'b'), noise);
    const names = ['ranks/rank_1.json', 'large', `${'deep/'.repeat(40)}rank-1-trace.json.gz.facts`];
    const files = names.map((name, i) => ({ name, path: join(folder, i === 1 ? 'b' : 'a') }));
    const target = join(folder, 'x.tar.gz');
    const { bytes, leftOut } = await writeBundle(files, target, 4000);
    expect(leftOut).toEqual(['large']);
    expect(bytes).toBe(readFileSync(target).length);
    const found: string[] = [];
    await visitMembers(target, async ({ path, stream }) => {
      let text = '';
      for await (const chunk of stream.chunks) text += Buffer.from(chunk).toString();
      found.push(`${path.slice(target.length + 1)} ${text}`);
    });
    expect(found[0]).toBe('ranks/rank_1.json first');
    expect(found[1]).toMatch(/rank-1-trace\.json\.gz\.facts first$/);
    expect(found).toHaveLength(2);
  }));
