import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { Problem } from '../base/problem.js';
import { type Member, visitMembers } from '../sources/open.js';
import { MemberReader, type MemberResult } from './member-reader.js';

export interface FileResult<T> {
  readonly path: string;
  readonly storedBytes: number;
  /** What `use` made of each member. */
  readonly members: readonly T[];
  readonly problems: readonly Problem[];
}

/** Chunks are parsed in pieces of this size. Between pieces the event loop can start inflating the next chunk. */
const PIECE = 256 << 10;

/** Called while reading, with the stored bytes read so far. */
export type OnBytes = (stored: number) => void;

/**
 * Reads every member of one file. `use` takes what is needed from each before the next is read, so that an archive of many
 * traces needs the memory of one. Throws InputError when the file cannot be opened.
 */
export async function readFile<T>(
  path: string,
  use: (member: MemberResult) => T,
  onBytes: OnBytes = () => {},
): Promise<FileResult<T>> {
  const members: T[] = [];
  const visited = await visitMembers(path, async (member) => {
    members.push(use(await readMember(path, member, onBytes)));
  });
  return { path, storedBytes: visited.storedBytes, problems: visited.problems, members };
}

async function readMember(file: string, member: Member, onBytes: OnBytes): Promise<MemberResult> {
  const { stats, chunks } = member.stream;
  const reader = new MemberReader({ file, path: member.path, storedSize: member.storedSize });
  for await (const chunk of chunks) {
    let wanted = true;
    for (let start = 0; wanted && start < chunk.length; start += PIECE) {
      if (start > 0) await turnOfTheLoop();
      wanted = reader.push(chunk.subarray(start, start + PIECE), stats.storedBytes);
    }
    if (!wanted) break;
    onBytes(stats.storedBytes);
  }
  const { storedBytes, decodedBytes, encodings, problems } = stats;
  return reader.finish({ storedBytes, decodedBytes, encodings, problems: problems.list() });
}
