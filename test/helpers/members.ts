/** Files in a temporary folder, and the members found in them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Problem } from '../../src/base/problem.js';
import { visitMembers } from '../../src/sources/open.js';

export interface Folder {
  readonly path: string;
  write(name: string, data: Uint8Array): Promise<string>;
  remove(): Promise<void>;
}

export async function temporaryFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'whyslow-sources-'));
  return {
    path,
    async write(name, data) {
      const file = join(path, name);
      await writeFile(file, data);
      return file;
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

export interface ReadMember {
  readonly path: string;
  readonly name: string;
  readonly storedSize: number | null;
  readonly storedBytes: number;
  readonly decodedBytes: number;
  readonly data: Buffer;
  readonly encodings: readonly string[];
  readonly problems: readonly Problem[];
}

export interface ReadFile {
  readonly members: readonly ReadMember[];
  /** Those of the file and of its members. */
  readonly codes: readonly string[];
  /** Those of the file alone. */
  readonly problems: readonly Problem[];
  readonly storedBytes: number;
}

/** Reads all members; `pause` runs after each chunk. */
export async function readAll(file: string, pause?: () => Promise<unknown>): Promise<ReadFile> {
  const members: ReadMember[] = [];
  const result = await visitMembers(file, async ({ path, name, storedSize, stream }) => {
    const parts: Uint8Array[] = [];
    for await (const chunk of stream.chunks) {
      parts.push(chunk);
      await pause?.();
    }
    const { storedBytes, decodedBytes, encodings, problems } = stream.stats;
    const data = Buffer.concat(parts);
    members.push({
      path,
      name,
      storedSize,
      storedBytes,
      decodedBytes,
      data,
      encodings,
      problems: problems.list(),
    });
  });
  const all = [...members.flatMap((member) => member.problems), ...result.problems];
  return { ...result, members, codes: all.map((problem) => problem.code) };
}
