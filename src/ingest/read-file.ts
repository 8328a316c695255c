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

/**
 * A chunk is parsed in pieces of this size, and the event loop gets a turn between them: when the next chunk is
 * inflated meanwhile, the one after it is started at once and not only when this one is parsed.
 */
const PIECE = 256 << 10;

/** Called while reading, with bytes as stored. */
export type OnBytes = (stored: number) => void;

/**
 * Reads every member of one file with the reader that recognises it. `use` takes what is needed of each before the next
 * is read, so that an archive of many traces needs the memory of one. Throws InputError when it cannot be opened.
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
    for (let at = 0; wanted && at < chunk.length; at += PIECE) {
      if (at > 0) await turnOfTheLoop();
      wanted = reader.push(chunk.subarray(at, at + PIECE), stats.storedBytes);
    }
    if (!wanted) break;
    onBytes(stats.storedBytes);
  }
  const { storedBytes, decodedBytes, encodings, problems } = stats;
  return reader.finish({ storedBytes, decodedBytes, encodings, problems: problems.list() });
}
