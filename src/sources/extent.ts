/** A stretch of bytes that can be read anywhere and more than once: a file on disk, or a part of one. */
export interface Extent {
  /** Where it starts in the file on disk; null for bytes that lie in memory. */
  readonly offset: number | null;
  readonly size: number;
  /** Bytes from `at`; fewer than `length` only at the end. */
  read(at: number, length: number): Promise<Uint8Array>;
}

export function sliceExtent(extent: Extent, start: number, size: number): Extent {
  const length = Math.max(0, Math.min(size, extent.size - start));
  return {
    offset: extent.offset === null ? null : extent.offset + start,
    size: length,
    read: (at, count) => extent.read(start + at, Math.max(0, Math.min(count, length - at))),
  };
}

export function memoryExtent(bytes: Uint8Array): Extent {
  return {
    offset: null,
    size: bytes.length,
    read: async (at, length) => bytes.subarray(at, at + length),
  };
}

/** A probe past the known end: the file may have grown since it was opened, or its size is not told (/proc). */
const PROBE_BYTES = 4096;

/** The extent in pieces from `start`. The next piece is being read while the caller works on this one. */
export async function* readPieces(extent: Extent, pieceSize: number, start = 0): AsyncGenerator<Uint8Array> {
  let at = start;
  const readNext = () => {
    const left = extent.size - at;
    const reading = extent.read(at, left > 0 ? Math.min(pieceSize, left) : PROBE_BYTES);
    // Its failure is met when it is awaited, which may be a while later.
    reading.catch(() => {});
    return reading;
  };
  let pending = readNext();
  try {
    for (;;) {
      const piece = await pending;
      if (piece.length === 0) return;
      at += piece.length;
      pending = readNext();
      yield piece;
    }
  } finally {
    // The file may be closed as soon as this has returned.
    await pending.catch(() => {});
  }
}
