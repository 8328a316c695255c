import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diagnose } from '../../src/library/diagnose.js';
import type { Report } from '../../src/report/report.js';
import { inFolder, whyslow } from '../helpers/cli.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

describeWithTorch('a job on several nodes', () => {
  // The first two nodes share a folder. The third has its own folder and its own run id.
  it('nodes that share a folder get one diagnosis, the others the command that copies their facts', () =>
    inFolder(async (cwd) => {
      const port = await freePort();
      const node = (index: number, ...options: string[]) => {
        const launcher = ['-m', 'torch.distributed.run', '--nnodes', '3', '--node-rank', `${index}`];
        const master = ['--nproc-per-node', '1', '--master-addr', '127.0.0.1', '--master-port', `${port}`];
        const train = [job('train.py'), '--steps', '28', '--late-rank', '2', '--late-ms', '150'];
        const ours = ['run', '--every', '2', '--trace-ranks', '1,2', '--no-telemetry', ...options];
        return whyslow([...ours, '--', python, ...launcher, ...master, ...train], { cwd });
      };
      const [first, second, third] = await Promise.all([
        node(0, '--out', 'shared', '--run-id', 'x', '--report', 'report.json'),
        node(1, '--out', 'shared', '--run-id', 'x'),
        node(2, '--out', 'own'),
      ]);
      for (const { code, stderr } of [first, second, third]) expect(code, stderr).toBe(0);
      expect(first.stderr).toContain('shared has no files of rank 2');
      expect(first.stderr).toContain('measured 2 ranks');
      expect(second.stderr).toContain('rank 1: measured into shared; the first node prints the diagnosis');
      expect(third.stderr).toContain('rank 2: measured into a folder that the first node does not share');
      // torchrun may complain when the first node is gone before it.
      for (const { stderr } of [second, third]) expect(stderr.match(/^whyslow: /gm)).toHaveLength(2);

      const report = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as Report;
      expect(report.ranks.map((r) => r.rank)).toEqual([0, 1]);
      // The first node read the facts of the second one's trace. The trace itself gives the same report.
      const facts = readdirSync(join(cwd, 'shared/.whyslow/facts'), { recursive: true }) as string[];
      expect(facts.filter((name) => name.endsWith('.facts'))).toHaveLength(1);
      expect(await diagnose([join(cwd, 'shared')], { jobs: 1 })).toEqual(report);

      // As the third node says, with a copy instead of scp.
      const [, from, to] = /scp -r [^:]+:(\S+) OUT\/(\S+)/.exec(third.stderr)!;
      cpSync(from!, join(cwd, 'shared', to!), { recursive: true });
      const joined = await diagnose([join(cwd, 'shared')], { jobs: 1 });
      expect(joined.ranks.map((r) => r.rank)).toEqual([0, 1, 2]);
      const late = joined.stragglers.filter((s) => s.pattern === 'persistent');
      expect(late).toMatchObject([{ ranks: [2], cause: 'host' }]);
    }));
});
