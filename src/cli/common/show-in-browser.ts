import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { leaveNothing } from '../../base/leave-nothing.js';

/**
 * Without a browser the user still has the address. The browser gets a file that leads there, because the address has the token
 * of the server, and all users of a machine see the arguments of all programs.
 */
export function showInBrowser(url: string): void {
  const page = redirectTo(url);
  if (page === null) return;
  const [program, ...words] =
    process.platform === 'darwin'
      ? ['open', page]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', page]
        : ['xdg-open', page];
  const child = spawn(program!, words, { detached: true, stdio: 'ignore' });
  child.on('error', () => {});
  child.unref();
}

/** A page that only this user can read. It goes with this program. Null: there is no room for it. */
function redirectTo(url: string): string | null {
  try {
    const folder = mkdtempSync(join(tmpdir(), 'whyslow-open-'));
    leaveNothing(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'open.html');
    const address = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
    const html = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${address}"><title>whyslow</title>`;
    writeFileSync(file, html, { mode: 0o600 });
    return pathToFileURL(file).href;
  } catch {
    return null;
  }
}
