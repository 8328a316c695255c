import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Layers of src/ that the page may read. Only types of the others: the code behind them needs Node. */
const MAY_IMPORT = ['base', 'facts', 'replay', 'page', 'drawing', 'render'];
const MAY_IMPORT_TYPES = [...MAY_IMPORT, 'report', 'remedies', 'rules', 'diagnosis', 'compare'];
/** The thread that reads dropped traces holds the whole analysis. `node/` stands in for what that needs of Node. */
const READER = /^web\/reading\/(?!node\/)/;
const OWN_FILES = /\/(?:package\.json|wasm\/scanner\.wasm)$/;
const PACKAGES = ['preact', 'preact/hooks', '@preact/signals'];

const files = readdirSync(join(root, 'web'), { recursive: true, encoding: 'utf8' })
  .filter((f) => /\.tsx?$/.test(f) && !/\.test\.tsx?$|\.d\.ts$/.test(f))
  .map((f) => join('web', f));
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');

describe('the page', () => {
  it.each(files)('%s imports only types and pure code', (file) => {
    const found = textOf(file).matchAll(/^(?:import|export) (type )?(?:[^;'(]*from )?'([^']+)'/gm);
    const wrong = [...found].filter(([, type, target = '']) => {
      if (!target.startsWith('.')) return !PACKAGES.includes(target);
      const [top, layer = ''] = normalize(join(dirname(file), target)).split('/');
      if (top === 'web') return layer === 'app' && file.startsWith('web/timeline/');
      if (file.startsWith('web/reading/node/')) return !OWN_FILES.test(target);
      if (READER.test(file) && layer === 'library') return false;
      return top !== 'src' || !(type ? MAY_IMPORT_TYPES : MAY_IMPORT).includes(layer);
    });
    expect(wrong.map(([line]) => line)).toEqual([]);
  });

  // Names come from traces: they must never become markup or code.
  it.each(files)('%s makes no markup and no code of text', (file) => {
    const active =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|javascript:|DOMParser|createContextualFragment/;
    expect(textOf(file)).not.toMatch(active);
  });
});
