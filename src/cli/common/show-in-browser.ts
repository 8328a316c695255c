import { spawn } from 'node:child_process';

/** Without a browser the user still has the address. */
export function showInBrowser(url: string): void {
  const [program, ...words] =
    process.platform === 'darwin'
      ? ['open', url]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url];
  const child = spawn(program!, words, { detached: true, stdio: 'ignore' });
  child.on('error', () => {});
  child.unref();
}
