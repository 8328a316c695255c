import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { readRanks } from './job.js';
import { awaitAnswers, Conversation, type Plan } from './on-demand.js';

it('capture gives up after its timeout if pipes are in place of the answers', () =>
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

/** Runs `afterLook` right after the first look for the plan. */
class Interrupted extends Conversation {
  afterLook: (() => Promise<void>) | null = null;

  override async plan(): Promise<Plan | null> {
    const found = await super.plan();
    await this.afterLook?.();
    this.afterLook = null;
    return found;
  }
}

it('waits for all ranks when the plan and an answer appear between two looks', () =>
  inFolder(async (out) => {
    const put = (name: string, content: object) =>
      writeFile(join(out, 'control', name), JSON.stringify(content));
    const conversation = new Interrupted(out, { id: 'x', steps: 1, ranks: [0, 1], waitSeconds: 30 });
    conversation.afterLook = async () => {
      await put('plan-x.json', { first_step: 7, steps: 1, ranks: [0, 1] });
      for (const rank of [0, 1]) await put(`done-x-rank-${rank}.json`, { status: 'done', path: 'trace' });
    };
    await conversation.ask();
    const outcome = await awaitAnswers(out, conversation, 30, () => {});
    expect(outcome).toMatchObject({ gaveUp: null, plan: { firstStep: 7 }, expected: [0, 1] });
    expect(outcome.answers.map((a) => a.rank)).toEqual([0, 1]);
  }));
