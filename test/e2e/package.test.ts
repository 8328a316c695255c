import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { InspectReport } from '../../src/report/inspect-report.js';
import { inFolder, root } from '../helpers/cli.js';

describe('the package', () => {
  it('works where it is unpacked, with the fast scanner in it', async () => {
    await inFolder(async (folder) => {
      const listing = execFileSync(
        'npm',
        ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
        { cwd: root },
      );
      // npm 11 lists by name, npm 10 as an array.
      const packed = Object.values(JSON.parse(listing.toString()) as object)[0] as {
        filename: string;
        files: { path: string }[];
      };
      const paths = packed.files.map((f) => f.path);
      expect(paths).toEqual(
        expect.arrayContaining([
          'bin/whyslow.js',
          'dist/worker.js',
          'wasm/scanner.wasm',
          'LICENSE',
          'README.md',
        ]),
      );
      expect(paths.filter((p) => /\.test\.|testing|^src|fixtures/.test(p))).toEqual([]);
      execFileSync('tar', ['-xzf', join(folder, packed.filename), '-C', folder]);
      // Its dependencies as npm would put them beside it.
      mkdirSync(join(folder, 'node_modules'));
      cpSync(join(folder, 'package'), join(folder, 'node_modules/whyslow'), { recursive: true });
      for (const name of [
        'commander',
        'picocolors',
        'fzstd',
        'yauzl',
        'pend',
        'tinyglobby',
        'fdir',
        'picomatch',
      ]) {
        symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
      }
      const trace = join(root, 'zoo/fixtures/h2d_pinned/rank0.json.gz');
      const out = execFileSync(process.execPath, [
        join(folder, 'node_modules/whyslow/bin/whyslow.js'),
        'inspect',
        '--json',
        trace,
      ]);
      const report = JSON.parse(out.toString()) as InspectReport;
      expect(report.inputs[0]!.events).toBe(1295);
      expect(report.inputs[0]!.problems).toEqual([]);
    });
  });
});
