import { dirname } from 'node:path';

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
