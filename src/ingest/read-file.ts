import type { Problem } from '../base/problem.js';
import type { ReadResult, StreamReader } from '../readers/reader.js';
import { findReader } from '../readers/registry.js';
import { type Member, visitMembers } from '../sources/open.js';
import { type NameHints, rankFromPath } from '../sources/rank-name.js';

/** Readers decide on this many bytes. */
const HEAD_BYTES = 65536;

/** One member of a file, read. */
export interface MemberResult {
  /** The file that was opened. */
  readonly file: string;
  /** As shown to users: `archive.tar.gz!inner.json` for a member of an archive. */
  readonly path: string;
  readonly hints: NameHints;
  readonly storedBytes: number;
  readonly decodedBytes: number;
  readonly encodings: readonly string[];
  /** Of the bytes and of the format. */
  readonly problems: readonly Problem[];
  readonly content: ReadResult | UnknownContent;
}

export interface UnknownContent {
  readonly kind: 'unknown';
  /** What it looks like, for the error message: `begins with "<!DOCTYPE html>"`. */
  readonly looksLike: string;
}

export interface FileResult {
  readonly path: string;
  readonly storedBytes: number;
  readonly members: readonly MemberResult[];
  readonly problems: readonly Problem[];
}

/** Called while reading, with bytes as stored. */
export type OnBytes = (stored: number) => void;

/** Reads every member of one file with the reader that recognises it. Throws InputError when it cannot be opened. */
export async function readFile(path: string, onBytes: OnBytes = () => {}): Promise<FileResult> {
  const members: MemberResult[] = [];
  const visited = await visitMembers(path, async (member) => {
    members.push(await readMember(path, member, onBytes));
  });
  // The last byte of a gzip is looked at after its chunks have ended: the problems are complete only now.
  return { path, storedBytes: visited.storedBytes, problems: visited.problems, members };
}

async function readMember(file: string, member: Member, onBytes: OnBytes): Promise<MemberResult> {
  const { stats, chunks } = member.stream;
  const progress = () => (member.storedSize ? stats.storedBytes / member.storedSize : Number.NaN);
  const held: Uint8Array[] = [];
  let head = 0;
  let reader: StreamReader | null = null;
  let unknown: UnknownContent | null = null;
  for await (const chunk of chunks) {
    if (reader !== null) reader.push(chunk);
    else {
      held.push(chunk);
      head += chunk.length;
      if (head >= HEAD_BYTES) {
        reader = startReader(held, progress);
        if (reader === null) {
          unknown = looksLike(held);
          break;
        }
      }
    }
    onBytes(stats.storedBytes);
  }
  if (reader === null && unknown === null) {
    reader = startReader(held, progress);
    if (reader === null) unknown = looksLike(held);
  }
  const result = reader?.finish() ?? null;
  return {
    file,
    path: member.path,
    hints: rankFromPath(member.path),
    storedBytes: stats.storedBytes,
    decodedBytes: stats.decodedBytes,
    encodings: stats.encodings,
    problems: [...stats.problems.list(), ...(result?.problems ?? [])],
    content: result ?? unknown!,
  };
}

function startReader(held: Uint8Array[], progress: () => number): StreamReader | null {
  const head = held.length === 1 ? held[0]! : Buffer.concat(held);
  const descriptor = findReader(head.subarray(0, HEAD_BYTES));
  if (descriptor === null) return null;
  const reader = descriptor.create({ progress });
  for (const chunk of held) reader.push(chunk);
  held.length = 0;
  return reader;
}

function looksLike(held: readonly Uint8Array[]): UnknownContent {
  const head = Buffer.concat(held).subarray(0, 512);
  return { kind: 'unknown', looksLike: describeHead(head) };
}

export function describeHead(head: Uint8Array): string {
  if (head.length === 0) return 'it is empty';
  const text = Buffer.from(head).toString('utf8');
  const firstLine = text.trimStart().split(/[\r\n]/, 1)[0] ?? '';
  if (/^<(?:!doctype|html|\?xml)/i.test(firstLine))
    return 'it is a web page (HTML), perhaps a login page that was saved';
  if (/^version https:\/\/git-lfs/.test(firstLine)) return 'it is a Git LFS pointer: run `git lfs pull`';
  const control = head.reduce((n, c) => n + Number(c < 9 || (c > 13 && c < 32) || c === 127), 0);
  if (control > head.length / 20) return 'it is binary';
  return `it begins with ${JSON.stringify(firstLine.slice(0, 60))}`;
}
