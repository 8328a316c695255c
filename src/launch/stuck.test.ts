import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/cli.js';
import { watchForStuck } from './stuck.js';

/** Rank 0 stands still; rank 1 is this process, or one that has ended. */
function write(out: string, isGone: boolean): void {
  for (const folder of ['ranks', 'stuck']) mkdirSync(join(out, folder), { recursive: true });
  const rank = (number: number, pid: number) => ({
    whyslow: 1,
    manifest: 'rank',
    run: 'r',
    rank: number,
    host: hostname(),
    pid,
  });
  for (const one of [rank(0, process.pid), rank(1, isGone ? 2 ** 22 + 1 : process.pid)])
    writeFileSync(join(out, 'ranks', `rank_${one.rank}.json`), JSON.stringify(one));
  for (const number of isGone ? [0] : [0, 1])
    writeFileSync(join(out, 'stuck', `stacks_rank_${number}.txt`), 'Process 1: x\n');
}

it.each([
  ['at once while all ranks run', false, true],
  [
    'not yet once a rank has ended: the others fail after it, and the end of the job shows who was first',
    true,
    false,
  ],
])('a job whose steps no longer end is reported %s', (_, isGone, isTold) =>
  inFolder(async (out) => {
    write(out, isGone);
    const told: string[] = [];
    const tell = async (folder: string) => void told.push(folder);
    const watch = watchForStuck(out, {}, tell, [1, 1, 60_000]);
    for (let i = 0; i < 100 && told.length === 0 && isTold; i++) await sleep(20);
    if (!isTold) await sleep(200);
    expect(told).toEqual(isTold ? [join(out, 'stuck')] : []);
    watch.stop();
  }),
);
