import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder, whyslow } from '../helpers/cli.js';

const TRACE = 'zoo/fixtures/data_io_w0';

describe('diagnose --html', () => {
  it('writes one file and still prints the verdict', async () => {
    await inFolder(async (folder) => {
      const file = join(folder, 'report.html');
      const { code, stdout, stderr } = await whyslow([
        'diagnose',
        TRACE,
        '--html',
        file,
        '--title',
        'Run <7>',
      ]);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^Data-bound: /);
      expect(stderr).toMatch(/^whyslow: the page is in .*report\.html \(\d+(\.\d+)? kB\)\n$/);
      const html = readFileSync(file, 'utf8');
      expect(html).toContain('<title>Run &lt;7&gt;</title>');
      expect(html).not.toMatch(/(?:src|href)="(?!data:)/);
      expect(readdirSync(folder)).toEqual(['report.html']);
    });
  });

  it('prints nothing but JSON on the standard output with --json', async () => {
    await inFolder(async (folder) => {
      const { stdout } = await whyslow(['diagnose', TRACE, '--json', '--html', join(folder, 'r.html')]);
      expect(JSON.parse(stdout)).toMatchObject({ verdict: { bottleneck: 'data' } });
    });
  });

  it('says what is wrong when the file cannot be written, and leaves nothing behind', async () => {
    await inFolder(async (folder) => {
      const missing = await whyslow(['diagnose', TRACE, '--html', join(folder, 'no/such/r.html')]);
      expect(missing.code).toBe(2);
      expect(missing.stderr).toContain('is no folder that you may write to');
      await mkdir(join(folder, 'taken'));
      await writeFile(join(folder, 'taken/x'), '');
      const taken = await whyslow(['diagnose', TRACE, '--html', join(folder, 'taken')]);
      expect(taken.code).toBe(2);
      expect(taken.stderr).toContain('cannot write');
      expect(readdirSync(folder)).toEqual(['taken']);
      expect(existsSync(join(folder, 'taken/x'))).toBe(true);
    });
  });

  it('needs a file for a title', async () => {
    const { code, stderr } = await whyslow(['diagnose', TRACE, '--title', 'a']);
    expect(code).toBe(2);
    expect(stderr).toContain('--html');
  });
});
