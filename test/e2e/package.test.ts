import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { InspectReport } from '../../src/report/inspect-report.js';
import { inFolder, root } from '../helpers/cli.js';
import { describeWithTorch, python } from '../helpers/python.js';

describeWithTorch('the Python part of the package', () => {
  it('can be installed by pip, and then works by itself', () =>
    inFolder(async (folder) => {
      // Building leaves files next to the sources.
      cpSync(join(root, 'python'), join(folder, 'python'), {
        recursive: true,
        filter: (from) => !/_cache|egg-info|\/build$/.test(from),
      });
      const target = join(folder, 'site');
      const pip = (...args: string[]) =>
        execFileSync(python, ['-m', 'pip', '--quiet', ...args], { cwd: folder });
      pip('install', '--no-deps', '--no-build-isolation', '--no-index', '--target', target, './python');
      const script = 'import whyslow_capture as w; print(w.__file__); w.CaptureConfig()';
      const env = { ...process.env, PYTHONPATH: target };
      const out = execFileSync(python, ['-P', '-c', script], { cwd: folder, env });
      expect(out.toString().trim()).toBe(join(target, 'whyslow_capture/__init__.py'));
      const packages = (path: string) =>
        readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((f) =>
          /__init__\.py$|py\.typed$/.test(f),
        );
      for (const name of ['whyslow_capture', 'whyslow_dropins', 'whyslow_training', 'whyslow_trials'])
        expect(packages(join(target, name)).sort()).toEqual(packages(join(root, 'python/src', name)).sort());
    }));
});

describe('the package', () => {
  it('the package has the license of every project whose code is in it', () => {
    const notices = readFileSync(join(root, 'dist/THIRD_PARTY_NOTICES'), 'utf8');
    // esbuild names the file before each part of a bundle.
    const scripts = readdirSync(join(root, 'dist')).filter((file) => file.endsWith('.js'));
    const parts = scripts.flatMap((file) => [
      ...readFileSync(join(root, 'dist', file), 'utf8').matchAll(
        /^\/\/ .*node_modules\/((?:@[^/]+\/)?[^/]+)\//gm,
      ),
    ]);
    const bundled = [...new Set(parts.map(([, name]) => name!))];
    expect(bundled).toContain('hyparquet');
    for (const name of [...bundled, 'assemblyscript']) {
      const folder = join(root, 'node_modules', name);
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        version: string;
      };
      expect(notices).toContain(`${name} ${version} (`);
      expect(notices).toContain(readFileSync(join(folder, 'LICENSE'), 'utf8').trim());
    }
  });

  it('works where it is unpacked, with the WebAssembly scanner', async () => {
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
          'dist/THIRD_PARTY_NOTICES',
          'wasm/scanner.wasm',
          'LICENSE',
          'README.md',
          'python/pyproject.toml',
          'python/README.md',
          'python/src/whyslow_capture/__init__.py',
          'python/src/whyslow_capture/py.typed',
          'python/src/whyslow_capture/inject/site/sitecustomize.py',
        ]),
      );
      expect(paths.filter((p) => /\.test\.|testing|^src|fixtures|python\/tests/.test(p))).toEqual([]);
      expect(paths.filter((p) => /_cache|\.pyc$|egg-info|requirements/.test(p))).toEqual([]);
      // Compiled code serves only the machine that built it.
      expect(paths.filter((p) => /\.(?:code|cjs)$/.test(p))).toEqual([]);
      // Not one of its files is forgotten.
      const wanted = ['python/src', 'python/engines'].flatMap((from) =>
        readdirSync(join(root, from), { recursive: true, encoding: 'utf8' })
          .filter((f) => f.endsWith('.py'))
          .map((f) => `${from}/${f}`),
      );
      expect(paths.filter((p) => /^python\/(?:src|engines)\/.*\.py$/.test(p)).sort()).toEqual(wanted.sort());
      execFileSync('tar', ['-xzf', join(folder, packed.filename), '-C', folder]);
      const trace = join(root, 'zoo/fixtures/h2d_pinned/rank0.json.gz');
      const out = execFileSync(process.execPath, [
        join(folder, 'package/bin/whyslow.js'),
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
