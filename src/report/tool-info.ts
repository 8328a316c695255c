import { readFileSync } from 'node:fs';

/** Name and version as they stand in package.json, which lies two levels above in src/ and dist/ alike. */
export function toolInfo(): { readonly name: 'whyslow'; readonly version: string } {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return { name: 'whyslow', version: (JSON.parse(text) as { version: string }).version };
}
