import { basename } from 'node:path';
import type { Problem } from '../base/problem.js';
import { Cursor } from './cursor.js';
import { Faults } from './faults.js';
import { openFile } from './file-source.js';
import { type Layer, PEEKING, type Sizes, STREAMING } from './layer.js';
import type { Member, Walk } from './member.js';
import { walkLayer } from './walk.js';

export type { Member } from './member.js';

export interface Visited {
  /** Problems that belong to no member: those are in the `stats` of each member's stream, and not here. */
  readonly problems: readonly Problem[];
  /** How far the file was read, in bytes as stored. */
  readonly storedBytes: number;
}

/**
 * Visits every member of one file in order: the file itself, its inside when it is compressed, every regular file
 * when it is an archive, whatever the name says. `file` is a path, or `-` for standard input.
 *
 * `visit` reads the member's stream before it returns, or as much of it as it cares for: the rest is skipped, and the
 * next member comes. What `visit` throws ends the visit and is thrown on. An empty file is one member without bytes.
 * Throws InputError when the file cannot be read; faults of its data are problems.
 */
export async function visitMembers(file: string, visit: (member: Member) => Promise<void>): Promise<Visited> {
  return walkFile(file, STREAMING, async (member) => {
    await visit(member);
    return true;
  });
}

/** The first decoded bytes of a file. */
export interface Head {
  /** Of the member they come from. */
  readonly path: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly encodings: readonly string[];
}

/**
 * A cheap look at the start of a file, or of the first member of an archive; null when there is no member. Reads a few
 * hundred KiB at most, so as to tell whether the file is worth more.
 */
export async function peekHead(file: string, bytes = 1 << 16): Promise<Head | null> {
  let head: Head | null = null;
  await walkFile(file, PEEKING, async ({ path, name, stream }) => {
    const cursor = new Cursor(stream.chunks[Symbol.asyncIterator]());
    const start = await cursor.peek(bytes);
    await cursor.close();
    head = { path, name, bytes: start, encodings: stream.stats.encodings };
    return false;
  });
  return head;
}

async function walkFile(file: string, sizes: Sizes, visit: Walk['visit']): Promise<Visited> {
  const faults = new Faults();
  const source = await openFile(file, sizes);
  try {
    const cursor = new Cursor(source.chunks);
    const { extent } = source;
    const layer: Layer = { cursor, extent, size: extent?.size ?? null, stored: () => cursor.position };
    const label = file === '-' ? 'stdin' : file;
    await walkLayer(
      layer,
      { path: label, name: basename(label), encodings: [], start: 0 },
      { faults, sizes, visit },
    );
    faults.settle();
    return { problems: faults.loose.list(), storedBytes: source.reached() };
  } finally {
    await source.close();
  }
}
