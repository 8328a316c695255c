import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Report } from '../../src/report/report.js';
import { cases, countCases, SOAK } from '../helpers/cases.js';
import { inFolder, until, whyslow } from '../helpers/cli.js';
import { describeWithTorch } from '../helpers/python.js';
import { nodeThatDies, nodeThatFirst, onCluster, withCluster } from '../helpers/python-cluster.js';
import { simulateRun, writeRun } from '../helpers/simulate/simulate.js';

const simulated = () =>
  simulateRun({
    seed: 4,
    ranks: 6,
    steps: 5,
    eventsPerStep: 60,
    fault: { kind: 'data', ranks: [5], size: 0.3 },
  });

describeWithTorch('diagnose --on dask', () => {
  it.concurrent('says soon that there is no scheduler', async () => {
    const { code, stdout, stderr } = await onCluster([
      'diagnose',
      'package.json',
      '--on',
      'dask',
      '--address',
      '127.0.0.1:1',
    ]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(
      /^whyslow: there is no Dask cluster at 127\.0\.0\.1:1 \(Connection refused\): pass --address /,
    );
  });

  it.concurrent('does not wait forever for somebody who listens but is no scheduler', async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    try {
      await new Promise((resolve) => server.once('listening', resolve));
      const { port } = server.address() as { port: number };
      const { code, stderr } = await onCluster(['diagnose', 'package.json', '--on', 'dask'], {
        DASK_SCHEDULER_ADDRESS: `tcp://127.0.0.1:${port}`,
      });
      expect(code).toBe(2);
      expect(stderr).toContain(
        `no Dask cluster at tcp://127.0.0.1:${port} (no Dask scheduler answered within`,
      );
    } finally {
      server.close();
    }
  });

  it.concurrent('gives the report that it gives here although a worker dies, and names a rank whose task always fails', () =>
    inFolder(async (folder) => {
      const traces = join(folder, 'run');
      writeRun(simulated(), traces);
      writeFileSync(join(traces, 'notes.md'), 'not a trace');
      const { node, killed, isBroken } = nodeThatDies(folder);
      await withCluster('dask', node, async ({ options, tell }) => {
        const diagnose = (path: string) => onCluster(['diagnose', path, ...options, '--json']);
        const here = await whyslow(['diagnose', traces, '--json']);
        const there = await diagnose(traces);
        expect(there.stderr).toBe('');
        expect(there.stdout).toBe(here.stdout);
        expect(existsSync(killed)).toBe(true);

        // One host cannot run whyslow, another does not see the files: no task may go there.
        const blind = nodeThatFirst(
          folder,
          `case "$*" in *--list*) echo '[]'; exit;; --version);; *) exit 3;; esac`,
          'blind',
        );
        await Promise.all([
          tell(`add 127.0.0.3 ${blind}`, '127.0.0.3'),
          tell(`add 127.0.0.4 ${join(folder, 'none')}`, '127.0.0.4'),
        ]);
        writeFileSync(isBroken, '');
        const { stdout, stderr } = await diagnose(traces);
        expect(stderr).toMatch(/^whyslow: 127\.0\.0\.4: Node\.js 20\.19 or newer .*WHYSLOW_NODE\n$/);
        const less = JSON.parse(stdout) as Report;
        expect(less.ranks.map((r) => r.rank)).toEqual([0, 1, 2, 4, 5]);
        expect(less.stragglers).toMatchObject([{ ranks: [5], cause: 'data' }]);
        const [lost, ...others] = less.health.problems.filter((p) => p.code === 'lost-file');
        expect(others).toEqual([]);
        expect(lost!.message).toMatch(/rank-3\.json\.gz could not be read on the cluster: .*signal 9/);
        expect(lost!.consequence).toBe('nothing is known of rank 3');

        const file = join(folder, 'scheduler.json');
        writeFileSync(file, JSON.stringify({ address: options.at(-1) }));
        const none = await onCluster([
          'diagnose',
          join(folder, 'nowhere'),
          '--on',
          'dask',
          '--address',
          file,
        ]);
        expect(none).toMatchObject({ code: 2, stdout: '' });
        expect(none.stderr).toContain('no node of the Dask cluster has files in');
      });
    }));
});

/** It waits for half a minute until a host is taken for lost. */
if (SOAK) {
  describeWithTorch('diagnose on a Dask cluster that loses a host', () => {
    const delays = Array.from({ length: cases(1) }, (_, i) => (i % 5) / 5);
    it.each(delays)(
      'names the rank that only this host had, and reads the others elsewhere, %f s later',
      (delay) =>
        inFolder(async (folder) => {
          countCases(1);
          const traces = join(folder, 'run');
          writeRun(simulated(), traces);
          const listed = `"${process.execPath}" "$@" | "${process.execPath}" -e '${WITHOUT_RANK_3}'`;
          const node = nodeThatFirst(folder, `case "$*" in *--list*) ${listed}; exit;; esac`);
          const started = join(folder, 'started');
          const stuck = nodeThatFirst(
            folder,
            `case "$*" in *rank-3.json*) touch ${started}; while kill -0 $PPID; do sleep 0.1; done; exit 3;; esac`,
            'stuck',
          );
          await withCluster('dask', node, async ({ options, tell }) => {
            await tell(`add 127.0.0.3 ${stuck}`, '127.0.0.3');
            const running = onCluster(['diagnose', traces, ...options, '--json']);
            await until(() => existsSync(started), 'the task of rank 3');
            await sleep(1000 * delay);
            await tell('lose 127.0.0.3', 'lose');
            const report = JSON.parse((await running).stdout) as Report;
            expect(report.ranks.map((r) => r.rank)).toEqual([0, 1, 2, 4, 5]);
            const [lost, ...others] = report.health.problems.filter((p) => p.code === 'lost-file');
            expect(others).toEqual([]);
            expect(lost!.message).toMatch(/rank-3\.json\.gz .*: the node with the file went away$/);
          });
        }),
    );
  });
}

/** Leaves a file out of a list. */
const WITHOUT_RANK_3 = `
  let text = "";
  process.stdin.on("data", (part) => (text += part)).on("end", () =>
    console.log(JSON.stringify(JSON.parse(text).filter(({ path }) => !path.includes("rank-3")))),
  )`;
