import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../test/helpers/folder.js';
import { explainNothing, whatWasCaptured } from './captured.js';

const rankSaying = async (out: string, dropped: object) => {
  await mkdir(join(out, 'ranks'));
  await writeFile(join(out, 'ranks/rank_0.json'), JSON.stringify({ rank: 0, run: 'r', dropped }));
};

describe('when nothing was captured', () => {
  it('says that the disk was full, and how much was lost', () =>
    inFolder(async (out) => {
      await rankSaying(out, { 'disk-full': 3, 'records-dropped': 1200 });
      const captured = await whatWasCaptured(out, 'r');
      expect(captured).toEqual({ ranks: 1, hasRecords: false, lostToFullDisk: 1200, torchIn: null });
      expect(explainNothing(captured, 'OUT', 0).join('\n')).toMatch(
        /^disk full: 1200 records lost\. Free some space for OUT/,
      );
    }));

  it('says so even if the ranks could not write that down', () =>
    expect(
      explainNothing({ ranks: 0, hasRecords: false, lostToFullDisk: 0, torchIn: null }, 'OUT', 0).join('\n'),
    ).toMatch(/^disk full: nothing could be written/));

  it('names the process that loaded torch', () =>
    inFolder(async (out) => {
      await mkdir(join(out, 'telemetry'));
      const process = (torch: boolean, command: string) => JSON.stringify({ process: { torch, command } });
      const lines = [
        '{"whyslow":1}',
        process(false, 'bash'),
        '{"process":',
        process(true, 'python a.py'),
        '',
      ];
      await writeFile(join(out, 'telemetry/proc-host.jsonl'), lines.join('\n'));
      const [what, ...rest] = explainNothing(await whatWasCaptured(out, 'r'), 'OUT', 0);
      expect(what).toContain('“python a.py” loaded torch, but no training step was seen');
      expect(rest.join('\n')).not.toContain('no Python process imported torch');
    }));

  it('says that the command failed, if it did', () => {
    const captured = { ranks: 0, hasRecords: false, lostToFullDisk: null, torchIn: null };
    expect(explainNothing(captured, 'OUT', 0).join()).not.toContain('failed');
    const [what, ...rest] = explainNothing(captured, 'OUT', 3);
    expect(what).toBe(
      'nothing was captured: the command failed (exit status 3), and no training step was seen. Its own messages are above.',
    );
    expect(rest).toHaveLength(1);
    expect(explainNothing(captured, 'OUT', 143)[1]).toBe(
      '  - the command failed before its first step (exit status 143)',
    );
  });

  it('does not blame the disk for records that were lost otherwise', () =>
    inFolder(async (out) => {
      await rankSaying(out, { 'records-dropped': 5 });
      const captured = await whatWasCaptured(out, 'r');
      expect(captured.lostToFullDisk).toBeNull();
      expect(explainNothing(captured, 'OUT', 0).join('\n')).not.toContain('disk full');
    }));

  it('does not wait for a pipe', () =>
    inFolder(async (out) => {
      await mkdir(join(out, 'cuda_event_profiler'));
      execFileSync('mkfifo', [join(out, 'cuda_event_profiler/cuda_events_rank_0.jsonl')]);
      expect((await whatWasCaptured(out, 'r')).hasRecords).toBe(false);
    }));
});
