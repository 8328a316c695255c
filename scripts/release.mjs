// `npm run release`: builds everything that a release uploads into build/release, checks it, and stops (docs/releasing.md).
// `--draft` lists what is missing for a release and goes on. `--no-tests` leaves `npm test` out.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root, run } from './lib.mjs';
import { ensurePython, python } from './python.mjs';
import { wrongInChangelog, wrongInNpm, wrongInWheel, wrongLicenses } from './release/contents.mjs';
import { componentsOf, sbomOf } from './release/sbom.mjs';
import { copiesOf, versionOf } from './version.mjs';
import { buildWheel } from './wheel.mjs';

const OUT = new URL('build/release/', root);
const at = (path, base = root) => fileURLToPath(new URL(path, base));
const textOf = (path) => readFileSync(new URL(path, root), 'utf8');
const isDraft = process.argv.includes('--draft');
const version = versionOf();
const { name, license } = JSON.parse(textOf('package.json'));

ensureInstalled();
if (!ensurePython()) process.exit(1);
stopAt(wrongBefore());
if (process.argv.includes('--no-tests')) run('node', ['scripts/build.mjs']);
else run('node', ['scripts/test.mjs'], { env: { ...process.env, CI: 'true' } });

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const components = componentsOf(textOf('dist/THIRD_PARTY_NOTICES'));
const wrong = [...npmPackage(), ...wheel(), ...wrongLicenses(components)];
const time = new Date(Number(output('git', ['log', '-1', '--format=%ct'])) * 1000).toISOString();
const sbom = sbomOf({ name, version, license, components, time });
writeFileSync(new URL(`${name}-${version}.cdx.json`, OUT), `${JSON.stringify(sbom, null, 1)}\n`);
run('node', ['--import', 'tsx', 'zoo/archive.ts']);
copyFileSync(at(`build/zoo/${name}-zoo-${version}.tar`), at(`${name}-zoo-${version}.tar`, OUT));
const sums = readdirSync(OUT)
  .sort()
  .map((file) => `${sha256(new URL(file, OUT))}  ${file}`);
writeFileSync(new URL('SHA256SUMS', OUT), `${sums.join('\n')}\n`);
stopAt(wrong, false);

console.log(`\nbuild/release has ${name} ${version}:`);
for (const file of readdirSync(OUT))
  console.log(`  ${file} (${(statSync(new URL(file, OUT)).size / 1e6).toFixed(2)} MB)`);
console.log(`\nNothing was uploaded. Next (docs/releasing.md):
  git push && git push origin v${version}
  npm publish build/release/${name}-${version}.tgz
  python -m twine upload build/release/*.whl`);

/** What a release needs before it is built. */
function wrongBefore() {
  const changed = output('git', ['status', '--porcelain']);
  const tag = spawnSync('git', ['rev-parse', '-q', '--verify', `v${version}^{commit}`], {
    cwd: at('.'),
    encoding: 'utf8',
  });
  const head = output('git', ['rev-parse', 'HEAD']);
  return [
    ...(changed === '' ? [] : ['there are changes that are not committed']),
    ...(tag.status !== 0
      ? [`there is no tag v${version}`]
      : tag.stdout.trim() === head
        ? []
        : [`the tag v${version} is another commit`]),
    ...wrongInChangelog(textOf('CHANGELOG.md'), version),
    ...copiesOf(version)
      .filter(([, is, should]) => is !== should)
      .map(([path]) => `${path} has another version`),
  ];
}

function npmPackage() {
  const listed = output('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', at('.', OUT)]);
  // npm 11 lists by name, npm 10 as an array.
  const [{ files, size }] = Object.values(JSON.parse(listed));
  return wrongInNpm(
    files.map(({ path }) => path),
    size,
  );
}

function wheel() {
  const built = buildWheel();
  copyFileSync(built, at(basename(built), OUT));
  const read = `import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
print(wheel.read(next(n for n in names if n.endswith("/METADATA"))).decode().split("\\n\\n")[0])
print("\\n\\n" + "\\n".join(names))`;
  const [metadata, names] = output(at(python), ['-c', read, built]).split('\n\n\n');
  return wrongInWheel(names.trim().split('\n'), statSync(built).size, metadata, version);
}

/** In a draft, what is missing before the build is only listed. */
function stopAt(sentences, mayGoOn = isDraft) {
  for (const sentence of sentences) console.error(`${mayGoOn ? 'draft' : '!!'}: ${sentence}`);
  if (sentences.length > 0 && !mayGoOn) process.exit(1);
}

function output(program, args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: at('.'),
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status === 0) return stdout.trim();
  console.error(error?.message ?? stderr);
  process.exit(1);
}

function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
