import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packTar } from 'modern-tar';

/**
 * `npm run zoo:archive`: all recordings whose truth is known, as build/zoo/whyslow-zoo-X.Y.Z.tar. `manifest.json` in it lists the
 * recordings, `SHA256SUMS` the files: `tar -xf FILE && sha256sum -c SHA256SUMS` in a checkout, then `npm run zoo`.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
/** One truth.json with many recordings below it, and folders of recordings with a truth.json each. */
const SETS = ['zoo/fixtures', 'zoo/clean/a', 'zoo/clean/b', 'zoo/clean/new', 'zoo/clean/unseen'];
const FOLDERS = ['zoo/ranks', 'zoo/sleeping-ranks'];
/** The name of each log is its truth. */
const LOGS = 'zoo/event-logs';

interface Recording {
  readonly name: string;
  /** The file with what was measured without whyslow. */
  readonly truth: string;
  readonly files: readonly string[];
}

export function recordings(): readonly Recording[] {
  return [...SETS.flatMap(inSet), ...FOLDERS.flatMap(inFolder), ...logs()];
}

/** Recordings whose trace was not kept are left out: `truth.json` has them too. */
function inSet(set: string): Recording[] {
  const { runs } = JSON.parse(readFileSync(join(root, set, 'truth.json'), 'utf8')) as {
    runs: { name: string }[];
  };
  return runs
    .map(({ name }) => `${set}/${name}`)
    .filter((name) => existsSync(join(root, name)))
    .map((name) => ({ name, truth: `${set}/truth.json`, files: filesBelow(name) }));
}

const inFolder = (folder: string): Recording[] =>
  readdirSync(join(root, folder))
    .map((entry) => `${folder}/${entry}`)
    .filter((name) => existsSync(join(root, name, 'truth.json')))
    .sort()
    .map((name) => ({
      name,
      truth: `${name}/truth.json`,
      files: filesBelow(name).filter((file) => !file.endsWith('truth.json')),
    }));

const logs = (): Recording[] =>
  filesBelow(LOGS)
    .filter((file) => file.endsWith('.jsonl.gz'))
    .map((file) => ({ name: file.replace('.jsonl.gz', ''), truth: `${LOGS}/README.md`, files: [file] }));

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file}`)
    .filter((file) => statSync(join(root, file)).isFile())
    .sort();
}

export async function zooArchive(): Promise<{ bytes: Uint8Array; manifest: object; count: number }> {
  const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const all = recordings();
  const explained = [...SETS.map(dirname), ...FOLDERS, LOGS].map((f) => `${f}/README.md`);
  const others = [...all.map((r) => r.truth), ...explained, 'docs/accuracy.md', 'LICENSE'];
  const paths = [...new Set([...all.flatMap((r) => r.files), ...others])]
    .filter((path) => existsSync(join(root, path)))
    .sort();
  const files = paths.map((path) => {
    const data = readFileSync(join(root, path));
    return { path, data, sha256: createHash('sha256').update(data).digest('hex') };
  });
  const manifest = {
    name: 'whyslow-zoo',
    version,
    license,
    recordings: all,
    files: files.map(({ path, data, sha256 }) => ({ path, bytes: data.length, sha256 })),
  };
  const sums = files.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join('');
  const added = [
    { path: 'SHA256SUMS', data: Buffer.from(sums) },
    { path: 'manifest.json', data: Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`) },
  ];
  // The same recordings give the same bytes.
  const entries = [...added, ...files].map(({ path, data }) => ({
    header: { name: path, size: data.length, mode: 0o644, mtime: new Date(0) },
    body: data,
  }));
  return { bytes: await packTar(entries), manifest, count: all.length };
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { bytes, count } = await zooArchive();
  const path = `build/zoo/whyslow-zoo-${version}.tar`;
  mkdirSync(join(root, dirname(path)), { recursive: true });
  writeFileSync(join(root, path), bytes);
  const sum = createHash('sha256').update(bytes).digest('hex');
  process.stdout.write(
    `${path}: ${count} recordings, ${(bytes.length / 1e6).toFixed(1)} MB, SHA-256 ${sum}\n`,
  );
}
