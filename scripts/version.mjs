// `npm version X.Y.Z` runs this: package.json has the version, and all other places are copies. A test compares them.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { root } from './lib.mjs';

/** Each with a pattern whose first group comes before the version, and whose second comes after it. */
const COPIES = [
  ['python/src/whyslow_capture/_version.py', /^(VERSION = ")[^"]*(")$/m],
  ['python/src/whyslow/__init__.py', /^(__version__ = ")[^"]*(")$/m],
  ['CITATION.cff', /^(version: )\S+()$/m],
];
/** Documents that name files of a release. */
const DOCUMENTS = ['README.md', 'docs/*.md', 'docs/how-to', 'docs/tutorials', 'examples'];
const FILE_NAME = /(whyslow-)\d+\.\d+\.\d+[\w.]*?((?:-py3-none-any\.whl|\.tgz))/g;

const git = (...args) => execFileSync('git', args, { cwd: fileURLToPath(root), encoding: 'utf8' });
const textOf = (path) => readFileSync(new URL(path, root), 'utf8');

/** [path, text, text with the version] of all places. */
export function copiesOf(version) {
  const documents = git('ls-files', '--', ...DOCUMENTS).split('\n');
  const places = [
    ...COPIES,
    ...documents.filter((path) => path.endsWith('.md')).map((path) => [path, FILE_NAME]),
  ];
  return places.map(([path, pattern]) => {
    const text = textOf(path);
    if (text.search(pattern) === -1 && pattern !== FILE_NAME) throw new Error(`${path} has no version`);
    return [path, text, text.replace(pattern, `$1${version}$2`)];
  });
}

export const versionOf = () => JSON.parse(textOf('package.json')).version;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, before, after] of copiesOf(versionOf())) {
    if (before === after) continue;
    writeFileSync(new URL(path, root), after);
    git('add', '--', path);
    console.log(path);
  }
}
