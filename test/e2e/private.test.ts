import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { sbatchScript } from '../../src/engines/slurm.js';
import { inFolder, program, root, start, until, whyslow } from '../helpers/cli.js';
import { startServer } from '../helpers/fault-proxy.js';
import { describeWithTorch, job, python } from '../helpers/python.js';

const SECRET = 'hunter2hunter2';

describeWithTorch('what a run leaves behind', () => {
  const filesIn = (folder: string) =>
    readdirSync(folder, { withFileTypes: true, recursive: true }).map((e) => ({
      path: join(e.parentPath, e.name),
      isFolder: e.isDirectory(),
    }));
  const modesIn = (folder: string) =>
    new Set(
      filesIn(folder).map(
        ({ path, isFolder }) =>
          `${isFolder ? 'folder' : 'file'} ${(statSync(path).mode & 0o777).toString(8)}`,
      ),
    );
  const run = (cwd: string, ...flags: string[]) => {
    const command = ['env', `WANDB_API_KEY=${SECRET}`, python, job('train.py'), '--steps', '40'];
    return whyslow(['run', '--out', 'runs/one', ...flags, '--', ...command], { cwd });
  };

  it('what a run leaves behind can be read by its owner only, and holds no secret of the command line', () =>
    inFolder(async (cwd) => {
      expect((await run(cwd)).code).toBe(0);
      expect(modesIn(join(cwd, 'runs'))).toEqual(new Set(['folder 700', 'file 600']));
      expect((statSync(join(cwd, 'runs')).mode & 0o777).toString(8)).toBe('700');
      const texts = filesIn(join(cwd, 'runs'))
        .filter((f) => !f.isFolder)
        .map(({ path }) => {
          const bytes = readFileSync(path);
          return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
        });
      expect(texts.some((text) => text.includes('WANDB_API_KEY=***'))).toBe(true);
      expect(texts.filter((text) => text.includes(SECRET))).toEqual([]);
    }));

  it('what a run with --share leaves behind can be read by the group', () =>
    inFolder(async (cwd) => {
      expect((await run(cwd, '--share', '--no-trace', '--no-diagnose')).code).toBe(0);
      expect(modesIn(join(cwd, 'runs'))).toEqual(new Set(['folder 750', 'file 640']));
    }));
});

describe('secrets in addresses', () => {
  it('compare shows and keeps an address without its login and its signature', () =>
    inFolder(async (cwd) => {
      const trace = readFileSync(join(root, 'zoo/fixtures/h2d_pinned/rank0.json.gz'));
      const server = await startServer((_, outgoing) => outgoing.end(trace));
      const address = `${server.url.replace('://', `://me:${SECRET}@`)}/rank0.json.gz?X-Amz-Signature=${SECRET}`;
      const files = ['--html', 'page.html', '--json'];
      const compared = await whyslow(['compare', address, address, ...files], { cwd });
      const kept = await whyslow(['compare', address, '--history', 'history.jsonl'], { cwd });
      const linted = await whyslow(['lint', address], { cwd });
      await server.close();
      expect(JSON.parse(compared.stdout)).toHaveProperty(
        'before.runs.0.label',
        `${server.url}/rank0.json.gz`,
      );
      const shown = [compared, kept, linted].flatMap((ran) => [ran.stdout, ran.stderr]);
      const written = ['page.html', 'history.jsonl'].map((name) => readFileSync(join(cwd, name), 'utf8'));
      // Pages are long: which one, not what is in it.
      expect([...shown, ...written].map((text) => text.includes(SECRET))).not.toContain(true);
      expect(written[1]).toContain('rank0.json.gz');
    }));
});

describe('the token of whyslow open', () => {
  it('the token of whyslow open is in no argument of a program, but in a file of its owner', () =>
    inFolder(async (cwd) => {
      mkdirSync(join(cwd, 'bin'));
      writeFileSync(join(cwd, 'bin/xdg-open'), `#!/bin/sh\necho "$1" > '${join(cwd, 'asked')}'\n`);
      chmodSync(join(cwd, 'bin/xdg-open'), 0o755);
      const env = { PATH: `${join(cwd, 'bin')}:${process.env.PATH}`, TMPDIR: cwd };
      const trace = join(root, 'zoo/fixtures/h2d_pinned/rank0.json.gz');
      const opened = start(process.execPath, [program(), 'open', trace], { env });
      const asked = join(cwd, 'asked');
      await until(
        () => existsSync(asked) && readFileSync(asked, 'utf8').endsWith('\n'),
        'a browser is asked',
      );
      const [address] = /http:\S+/.exec(opened.said.stdout)!;
      const token = /[0-9a-f]{32}/.exec(address)![0];
      const file = fileURLToPath(readFileSync(asked, 'utf8').trim());
      expect(file).not.toContain(token);
      expect(readFileSync(file, 'utf8')).toContain(`url=${address}"`);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      opened.child.kill('SIGINT');
      await opened.ended;
      expect(existsSync(file)).toBe(false);
    }));
});

describe('a script for sbatch', () => {
  it('a script for sbatch runs nothing that a name contains', () =>
    inFolder(async (cwd) => {
      const out = join(cwd, 'x\ntouch pwned\n#');
      const script = sbatchScript({ paths: ['no such file'], out, options: [] } as never, 2);
      const ran = spawnSync('sh', ['-c', script.replaceAll(/^exec /gm, 'true ')], { cwd });
      expect(ran.status).toBe(0);
      expect(readdirSync(cwd)).toEqual([]);
    }));
});
