import { constants, createReadStream, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { describeSystemError, InputError } from '../base/input-error.js';
import type { Problem } from '../base/problem.js';
import { StreamQueue } from './careful-decode.js';
import { type Chunks, Cursor } from './cursor.js';
import { CHUNK_BYTES, type Extent, type Inflater, readPieces } from './extent.js';
import { startInflater } from './fast-gunzip.js';
import { Faults } from './faults.js';
import type { Walk } from './member.js';
import { isRemote, shownAddress } from './remote/address.js';
import { walkLayer } from './walk.js';

export type { Member } from './member.js';

interface Visited {
  /** Problems that belong to no member. Those of a member are in the `stats` of its stream. */
  readonly problems: readonly Problem[];
  /** How far the file was read, in stored bytes. */
  readonly storedBytes: number;
}

/**
 * Visits every member of one file in order: the file itself, its content when it is compressed, every regular file in it
 * when it is an archive, whatever its name says. `file` is a path, or `-` for standard input.
 *
 * `visit` reads as much of the member's stream as it wants before it returns; the rest is skipped. What it throws ends the
 * visit and is passed on. An empty file is one member without bytes. Throws InputError when the file cannot be read; faults
 * in its data are problems.
 */
export async function visitMembers(file: string, visit: Walk['visit']): Promise<Visited> {
  const faults = new Faults();
  const source = await openFile(file);
  try {
    const cursor = new Cursor(source.chunks);
    const { extent } = source;
    const path = file === '-' ? 'stdin' : shownAddress(file);
    await walkLayer(
      { cursor, extent, size: extent?.size ?? null, stored: () => cursor.position },
      { path, name: basename(path), encodings: [], start: 0 },
      { faults, visit },
    );
    faults.assignToFile();
    return { problems: faults.ofFile.list(), storedBytes: source.reached() };
  } finally {
    await source.close();
  }
}

/** An open file, or a stream such as standard input. */
interface FileSource {
  readonly chunks: Chunks;
  /** Null for pipes. */
  readonly extent: Extent | null;
  /** How far it has been read, in bytes. */
  reached(): number;
  close(): Promise<void>;
}

/** `-` is standard input; `s3:`, `gs:`, `https:` are addresses. Throws InputError with the path and the reason. */
export async function openFile(file: string): Promise<FileSource> {
  if (file === '-') return streamSource(process.stdin, 'standard input');
  // Loaded when needed: most files are on disks.
  if (isRemote(file)) return (await import('./remote/remote-source.js')).openRemote(file);
  try {
    const stats = await stat(file);
    if (stats.isDirectory()) throw new InputError(`cannot read ${file}: it is a directory`);
    if (stats.isSocket()) throw new InputError(`cannot read ${file}: it is a socket`);
    if (stats.isCharacterDevice() || stats.isBlockDevice())
      throw new InputError(`cannot read ${file}: it is a device, not a file`);
    // Pipes have no positions. Whoever names one means it: /dev/fd/63 is `<(command)`.
    if (stats.isFIFO()) return streamSource(createReadStream(file, { highWaterMark: CHUNK_BYTES }), file);
    return fileSource(await open(file, NEVER_WAIT), stats, file);
  } catch (error) {
    throw asInputError(error, file);
  }
}

/** Some files of the kernel look regular but wait for news that may never come, such as /proc/kmsg. */
const NEVER_WAIT = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

function fileSource(handle: FileHandle, stats: Stats, file: string): FileSource {
  let reached = 0;
  const noteRead = (end: number) => {
    reached = Math.max(reached, end);
  };
  const counted = (inflater: Inflater): Inflater => ({
    ...inflater,
    async next() {
      const message = await inflater.next();
      if (message.type === 'chunk') noteRead(message.consumed);
      return message;
    },
  });
  const extent: Extent = {
    offset: 0,
    size: stats.size,
    startInflater: () => counted(startInflater(handle.fd)),
    async read(at, length) {
      const buffer = Buffer.allocUnsafeSlow(length);
      let filled = 0;
      try {
        while (filled < length) {
          const { bytesRead } = await handle.read(buffer, filled, length - filled, at + filled);
          if (bytesRead === 0) break;
          filled += bytesRead;
        }
      } catch (error) {
        throw asInputError(error, file);
      }
      noteRead(at + filled);
      return buffer.subarray(0, filled);
    },
  };
  return { chunks: readPieces(extent), extent, reached: () => reached, close: () => handle.close() };
}

function streamSource(stream: Readable, label: string): FileSource {
  const queue = new StreamQueue(stream);
  let reached = 0;
  return {
    chunks: {
      async next() {
        try {
          const result = await queue.next();
          reached += result.value?.length ?? 0;
          return result;
        } catch (error) {
          throw asInputError(error, label);
        }
      },
      return: () => queue.return(),
    },
    extent: null,
    reached: () => reached,
    close: async () => {
      await queue.return();
    },
  };
}

function asInputError(error: unknown, file: string): InputError {
  if (error instanceof InputError) return error;
  return new InputError(`cannot read ${file}: ${describeSystemError(error)}`);
}
