import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { awaitAnswers } from './await-answers.js';
import { readRanks } from './job.js';
import { Conversation } from './on-demand.js';

it('gives up after its timeout although pipes lie where answers should be', () =>
  inFolder(async (out) => {
    await mkdir(join(out, 'control'));
    await mkdir(join(out, 'ranks'));
    const pipes = ['control/plan-x.json', 'control/done-x-rank-0.json', 'ranks/rank_1.json', 'run.json'];
    execFileSync(
      'mkfifo',
      pipes.map((name) => join(out, name)),
    );
    const alive = { rank: 0, run: 'r', host: hostname(), pid: process.pid, anchors: [] };
    await writeFile(join(out, 'ranks/rank_0.json'), JSON.stringify(alive));
    const conversation = new Conversation(out, { id: 'x', steps: 1, ranks: null, waitSeconds: 1 });
    await conversation.ask();
    const { gaveUp, answers } = await awaitAnswers(out, conversation, 1, () => {});
    expect(gaveUp).toContain('no answer within 1 s');
    expect(answers).toEqual([]);
    expect((await readRanks(out)).map((m) => m.rank)).toEqual([0]);
  }));
