import type { Problem } from '../base/problem.js';
import { type Member, visitMembers } from '../sources/open.js';
import { type MemberEnd, MemberReader, type MemberResult, type MemberStart } from './member-reader.js';

export interface FileResult {
  readonly path: string;
  readonly storedBytes: number;
  readonly members: readonly MemberResult[];
  readonly problems: readonly Problem[];
}

/** Called while reading, with bytes as stored. */
export type OnBytes = (stored: number) => void;

/** Takes the bytes of one member, here or in another thread. */
export interface MemberSink {
  /** False: stop. A promise: wait before the next chunk. */
  push(chunk: Uint8Array, storedBytes: number): boolean | Promise<boolean>;
  finish(end: MemberEnd): void;
}

/** Reads every member of one file with the reader that recognises it. Throws InputError when it cannot be opened. */
export async function readFile(path: string, onBytes: OnBytes = () => {}): Promise<FileResult> {
  const members: MemberResult[] = [];
  const file = await pourFile(path, onBytes, (start) => {
    const reader = new MemberReader(start);
    return {
      push: (chunk, stored) => reader.push(chunk, stored),
      finish: (end) => {
        members.push(reader.finish(end));
      },
    };
  });
  return { ...file, members };
}

/** The bytes of every member of a file into sinks. */
export async function pourFile(
  path: string,
  onBytes: OnBytes,
  sinkFor: (start: MemberStart) => MemberSink,
): Promise<Omit<FileResult, 'members'>> {
  const visited = await visitMembers(path, async (member) => {
    await pourMember(
      member,
      sinkFor({ file: path, path: member.path, storedSize: member.storedSize }),
      onBytes,
    );
  });
  return { path, storedBytes: visited.storedBytes, problems: visited.problems };
}

async function pourMember(member: Member, sink: MemberSink, onBytes: OnBytes): Promise<void> {
  const { stats, chunks } = member.stream;
  for await (const chunk of chunks) {
    const more = sink.push(chunk, stats.storedBytes);
    if (!(typeof more === 'boolean' ? more : await more)) break;
    onBytes(stats.storedBytes);
  }
  const { storedBytes, decodedBytes, encodings, problems } = stats;
  sink.finish({ storedBytes, decodedBytes, encodings, problems: problems.list() });
}
