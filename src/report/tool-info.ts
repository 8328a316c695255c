import { readFileSync } from 'node:fs';
import { packageRoot } from '../base/package-root.js';

/** Name and version as they stand in package.json. */
export function toolInfo(): { readonly name: 'whyslow'; readonly version: string } {
  const text = readFileSync(new URL('package.json', packageRoot()), 'utf8');
  return { name: 'whyslow', version: (JSON.parse(text) as { version: string }).version };
}
