import { version } from '../../../package.json';
import scanner from '../../../wasm/scanner.wasm';

/** The two files that the program reads of itself. They are part of this script. */
export function readFileSync(file: URL | string): Uint8Array | string {
  const { pathname } = new URL(file, 'file:///');
  if (pathname.endsWith('/wasm/scanner.wasm')) return scanner;
  if (pathname.endsWith('/package.json')) return JSON.stringify({ version });
  throw new Error(`there is no ${pathname} in a browser`);
}
