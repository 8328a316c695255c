// Licenses of third-party code in the package: their terms require the text with every copy. Packages that npm installs
// with ours have their own.
import { existsSync, readFileSync } from 'node:fs';
import { root } from './lib.mjs';

/** Its standard library is compiled into the scanner (scripts/build-wasm.mjs). */
const IN_WASM = 'assemblyscript';

/** @param inputs files that esbuild put into dist/, from its metafile */
export function noticesOf(inputs) {
  const bundled = inputs.map(packageOf).filter((name) => name !== null);
  const parts = [...new Set(bundled)].sort().map((name) => notice(name, 'Bundled into dist/.'));
  return [
    'This package contains code of the projects below.',
    ...parts,
    notice(IN_WASM, 'Its standard library is compiled into wasm/scanner.wasm.'),
  ].join(`\n${'-'.repeat(80)}\n\n`);
}

/** `@scope/name` or `name` of a file below node_modules. Null: a file of ours. */
export function packageOf(path) {
  const [, name] = /^.*(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  return name ?? null;
}

/** Fails where a package has no license text: then somebody must look. */
function notice(name, use) {
  const folder = new URL(`node_modules/${name}/`, root);
  const { version, license, homepage, author } = JSON.parse(
    readFileSync(new URL('package.json', folder), 'utf8'),
  );
  const texts = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'NOTICE']
    .map((file) => new URL(file, folder))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8').trim());
  if (texts.length === 0) throw new Error(`${name} is bundled, but has no license text in its package`);
  return `${[`${name} ${version} (${license})`, author?.name ?? author, homepage, use].filter(Boolean).join('\n')}\n\n${texts.join('\n\n')}\n`;
}
