import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Input that grows in one direction. */
export interface Shape {
  /** What there is more and more of. */
  readonly name: string;
  /** How many in `npm test`; four times as many in its second size. */
  readonly few: number;
  /** How many in `npm run soak`. */
  readonly many: number;
  /** In addition to `diagnose PATH`. */
  readonly options?: readonly string[];
  /** Writes the input into a folder that is there. */
  write(folder: string, n: number): Promise<void>;
}

export const put = async (folder: string, path: string, data: string | Uint8Array) => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), data);
};

export const one = (name: string, data: (n: number) => string | Uint8Array) => (folder: string, n: number) =>
  put(folder, name, data(n));
