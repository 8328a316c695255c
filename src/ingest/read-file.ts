import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { InputError, messageOf } from '../base/input-error.js';
import { type Problem, ProblemLog } from '../base/problem.js';
import { type Member, visitMembers } from '../sources/open.js';
import { shownAddress } from '../sources/remote/address.js';
import { eachPart, MemberReader, type Read, type ReadMemberOptions } from './read-member.js';

export interface ReadFile<T> {
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
 * traces needs the memory of one. A bug that one member triggers is a problem: the others are still good. Throws
 * InputError when the file cannot be opened.
 */
export async function readFile<T>(
  path: string,
  use: (member: Read) => T,
  onBytes: OnBytes = () => {},
  options: ReadMemberOptions = {},
): Promise<ReadFile<T>> {
  const members: T[] = [];
  const failures = new ProblemLog();
  const visit = async (member: Member) => {
    try {
      const reader = new MemberReader(member, options);
      await feed(reader, member, onBytes);
      for (const part of eachPart(await reader.finish(path), options.whole)) members.push(use(part));
    } catch (error) {
      if (error instanceof InputError || process.env.WHYSLOW_DEBUG) throw error;
      const message = `reading ${member.path} failed: ${messageOf(error)}`;
      failures.add('reading-failed', { message, consequence: 'it is left out; please report it' });
    }
  };
  const { storedBytes, problems } = await visitMembers(path, visit);
  return { path: shownAddress(path), storedBytes, problems: [...problems, ...failures.list()], members };
}

async function feed(reader: MemberReader, { stream }: Member, onBytes: OnBytes): Promise<void> {
  for await (const chunk of stream.chunks) {
    for (let start = 0; start < chunk.length; start += PIECE) {
      if (start > 0) await turnOfTheLoop();
      if (!reader.push(chunk.subarray(start, start + PIECE))) return;
    }
    if (stream.lending) {
      stream.lending.isOn = reader.keepsNothing;
      await turnOfTheLoop();
    }
    onBytes(stream.stats.storedBytes);
  }
}
