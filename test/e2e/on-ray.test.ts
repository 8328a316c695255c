import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { cases, countCases, SOAK } from '../helpers/cases.js';
import { inFolder, until, whyslow } from '../helpers/cli.js';
import { describeWithTorch } from '../helpers/python.js';
import { nodeThatDies, nodeThatFirst, onCluster, withCluster } from '../helpers/python-cluster.js';
import { simulateRun, writeRun } from '../helpers/simulate/simulate.js';

const RANKS = 8;
const simulated = () =>
  simulateRun({
    seed: 4,
    ranks: RANKS,
    steps: 5,
    eventsPerStep: 60,
    fault: { kind: 'data', ranks: [5], size: 0.3 },
  });

const onRay = (args: readonly string[], more: readonly string[]) =>
  onCluster(['diagnose', ...args, ...more, '--json']);

describeWithTorch('diagnose --on ray', () => {
  it('says what is missing: the cluster, Ray, Node.js', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'rank-0.json');
      writeFileSync(path, '[]');
      const nobody = await onRay([path], ['--on', 'ray', '--address', '127.0.0.1:1']);
      expect(nobody).toMatchObject({ code: 2, stdout: '' });
      expect(nobody.stderr).toMatch(/^whyslow: there is no Ray cluster at 127\.0\.0\.1:1 .*ray start --head/);
      writeFileSync(
        join(folder, 'python'),
        '#!/bin/sh\ncat >/dev/null\necho \'{"type":"error","code":"not-installed"}\'\n',
        {
          mode: 0o755,
        },
      );
      const without = await whyslow(['diagnose', path, '--on', 'ray'], {
        env: { PATH: `${folder}:${process.env.PATH}`, VIRTUAL_ENV: '' },
      });
      expect(without.stderr).toContain(`Ray is not installed for ${join(folder, 'python')}: `);
    }));
});

describeWithTorch('diagnose on a Ray cluster of two nodes', () => {
  it('gives the report that it gives here although a worker dies, and names a rank whose task always fails', () =>
    inFolder(async (folder) => {
      const traces = join(folder, 'run');
      writeRun(simulated(), traces);
      writeFileSync(join(traces, 'notes.md'), 'not a trace');
      const { node, killed, isBroken } = nodeThatDies(folder);
      await withCluster('ray', node, async ({ options }) => {
        const here = await whyslow(['diagnose', traces, '--json']);
        const there = await onRay([traces], options);
        expect(there.stderr).toBe('');
        expect(there.stdout).toBe(here.stdout);
        expect(existsSync(killed)).toBe(true);

        writeFileSync(isBroken, '');
        const less = JSON.parse((await onRay([traces], options)).stdout) as Report;
        expect(less.ranks.map((r) => r.rank)).toEqual([0, 1, 2, 4, 5, 6, 7]);
        expect(less.stragglers).toMatchObject([{ ranks: [5], cause: 'data' }]);
        const lost = less.health.problems.find((p) => p.code === 'lost-file')!;
        expect(lost.message).toMatch(/rank-3\.json\.gz could not be read on the cluster: .*signal 9/);
        expect(lost.consequence).toBe('nothing is known of rank 3');

        const none = await onRay([join(folder, 'nowhere')], options);
        expect(none).toMatchObject({ code: 2, stdout: '' });
        expect(none.stderr).toContain('no node of the Ray cluster has files in');
      });
    }));
});

/** Starting a cluster takes half a minute of two cores: `npm test` starts one. */
if (SOAK) {
  describeWithTorch('diagnose on a Ray cluster that loses a node', () => {
    // Two hosts list the files and eight tasks follow. Each of these ten calls asks for its version first.
    const moments = Array.from({ length: cases(1) }, (_, i) => 2 + ((5 * i) % 17));
    it.each(moments)('gives the same report, after %i calls', (calls) =>
      inFolder(async (folder) => {
        countCases(1);
        const traces = join(folder, 'run');
        writeRun(simulated(), traces);
        const started = join(folder, 'started');
        writeFileSync(started, '');
        const node = nodeThatFirst(folder, `echo >>${started}\nsleep 1`);
        await withCluster('ray', node, async ({ options, tell }) => {
          const here = await whyslow(['diagnose', traces, '--json']);
          const running = onRay([traces], options);
          await until(() => readFileSync(started, 'utf8').length >= calls, 'tasks', 900);
          await tell('kill', 'killed');
          const there = await running;
          expect(there.stdout).toBe(here.stdout);
        });
      }),
    );

    it('says how to get Node.js where no node has it', () =>
      inFolder(async (folder) => {
        const path = join(folder, 'rank-0.json');
        writeFileSync(path, '[]');
        await withCluster('ray', join(folder, 'none'), async ({ options }) => {
          const { code, stderr } = await onRay([path], options);
          expect(code).toBe(2);
          expect(stderr).toMatch(
            /no node of the Ray cluster can run whyslow: .*Node\.js 20\.19 or newer.*WHYSLOW_NODE/,
          );
        });
      }));
  });
}
