import type { Encoding } from './encoding.js';
import type { Decoding, Layer } from './layer.js';
import type { ByteStream, StreamStats } from './stream.js';

/** One file to read: a plain file, or one inside an archive. */
export interface Member {
  /** Shown to users: `runs/a.tar.gz!inner/name.json`, or the plain path. */
  readonly path: string;
  /** The innermost file name, without directories. */
  readonly name: string;
  /** Size as stored (compressed where it is), in bytes; null when unknown. */
  readonly storedSize: number | null;
  readonly stream: ByteStream;
}

/** Where a layer lies. */
export interface Place {
  readonly path: string;
  readonly name: string;
  /** What was peeled off on the way, outermost first. */
  readonly encodings: readonly Encoding[];
  /** Bytes of the file on disk that were used up before it. */
  readonly start: number;
}

export interface Walk extends Decoding {
  /** Says whether to go on with the next member. */
  visit(member: Member): Promise<boolean>;
}

/** Hands a decoded layer to the visitor; says whether to go on. */
export async function deliver(layer: Layer, place: Place, walk: Walk): Promise<boolean> {
  const stats: StreamStats = {
    storedBytes: 0,
    decodedBytes: 0,
    encodings: [...place.encodings],
    problems: walk.faults.begin(),
  };
  const stream: ByteStream = { chunks: onlyOnce(readLayer(layer, stats, place.start), place.path), stats };
  try {
    return await walk.visit({ path: place.path, name: place.name, storedSize: layer.size, stream });
  } finally {
    walk.faults.end();
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
    // Also when the reader has had enough: nothing stays open while the visitor does other things.
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
