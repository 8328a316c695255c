import type { Extent } from './extent.js';
import type { Faults } from './faults.js';
import type { ByteStream, Encoding, Layer, StreamStats } from './layer.js';

/** One file to read: a plain file, or one inside an archive. */
export interface Member {
  /** Shown to users: `runs/a.tar.gz!inner/name.json`, or the plain path. */
  readonly path: string;
  /** The innermost file name, without directories. */
  readonly name: string;
  /** Stored size (compressed where it is), in bytes; null when unknown. */
  readonly storedSize: number | null;
  readonly stream: ByteStream;
  /** The decoded bytes with random access, until the visit ends. Null for what can only be streamed. */
  readonly extent: Extent | null;
}

/** Where a layer comes from. */
export interface Origin {
  readonly path: string;
  readonly name: string;
  /** The encodings around it, outermost first. */
  readonly encodings: readonly Encoding[];
  /** Bytes of the file on disk that come before it. */
  readonly start: number;
}

export interface Walk {
  readonly faults: Faults;
  visit(member: Member): Promise<void>;
}

/** Passes a decoded layer to the visitor. */
export async function deliver(layer: Layer, origin: Origin, walk: Walk): Promise<void> {
  const { path, name, start } = origin;
  const problems = walk.faults.beginMember();
  const stats: StreamStats = { storedBytes: 0, decodedBytes: 0, encodings: [...origin.encodings], problems };
  const chunks = onlyOnce(readLayer(layer, stats, start), path);
  try {
    const stream = { chunks, stats, lending: layer.lending };
    await walk.visit({ path, name, storedSize: layer.size, stream, extent: layer.extent });
  } finally {
    walk.faults.endMember();
  }
}

async function* readLayer(layer: Layer, stats: StreamStats, start: number): AsyncGenerator<Uint8Array> {
  try {
    for (let chunk = await layer.cursor.take(); chunk !== null; chunk = await layer.cursor.take()) {
      stats.decodedBytes += chunk.length;
      stats.storedBytes = layer.stored() - start;
      yield chunk;
    }
    stats.storedBytes = layer.stored() - start;
  } finally {
    // Also when the visitor stops early, so that nothing stays open while it does other things.
    await layer.cursor.close();
  }
}

function onlyOnce(chunks: AsyncGenerator<Uint8Array>, path: string): AsyncIterable<Uint8Array> {
  let isTaken = false;
  return {
    [Symbol.asyncIterator]() {
      if (isTaken) throw new Error(`the bytes of ${path} can be iterated only once`);
      isTaken = true;
      return chunks;
    },
  };
}
