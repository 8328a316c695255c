import { dirname } from 'node:path';

/**
 * Recordings hold stacks, source lines and command lines. Only their owner reads them, or with WHYSLOW_SHARE=1 (`--share`) the
 * owner's group, too. Python does the same (whyslow_capture/own_files.py).
 */
export const ownModes = (env: { readonly WHYSLOW_SHARE?: string | undefined }) =>
  env.WHYSLOW_SHARE === '1' ? { folder: 0o750, file: 0o640 } : { folder: 0o700, file: 0o600 };

/** Node's `fs`, or what stands for it: this layer touches no files itself. */
interface FolderMaker {
  mkdirSync(path: string, options: { readonly mode: number }): void;
  statSync(path: string): { isDirectory(): boolean };
}

/**
 * Makes a folder and those around it. Returns whether it was made. Node's own recursive mkdir never returns where mkdir
 * answers ENOENT forever (/proc, some automounters), and calls a read-only disk a missing folder.
 */
export function makeFolders(path: string, fs: FolderMaker, mode = 0o777, tries = 2): boolean {
  try {
    fs.mkdirSync(path, { mode });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && fs.statSync(path).isDirectory()) return false;
    if (code !== 'ENOENT' || tries === 0 || dirname(path) === path) throw error;
    makeFolders(dirname(path), fs, mode);
    return makeFolders(path, fs, mode, tries - 1);
  }
}
