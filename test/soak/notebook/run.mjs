// A real notebook: a report, a measured cell, a comparison. `npm run soak notebook` executes it, and leaves build/notebook.html.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment, must } from '../environment.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const python = environment('notebook', ['nbclient', 'ipykernel', 'nbconvert']);
mkdirSync(join(root, 'build'), { recursive: true });
must(python, [fileURLToPath(new URL('execute.py', import.meta.url)), join(root, 'build/notebook.html')], {
  cwd: root,
  env: { ...process.env, PYTHONPATH: join(root, 'python/src') },
  stdio: 'inherit',
});
