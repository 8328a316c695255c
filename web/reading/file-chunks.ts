import { InputError } from '../../src/base/input-error.js';

/** Decoded. The columns of a trace take a sixth of it, and a browser gives a page some GB. */
const MOST_BYTES = 4e9;

/** Formats that browsers cannot open, by their first bytes. */
const CLOSED: readonly (readonly [string, readonly number[]])[] = [
  ['compressed with zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['a zip archive', [0x50, 0x4b, 3, 4]],
  ['compressed with xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['compressed with bzip2', [0x42, 0x5a, 0x68]],
];
const GZIP = [0x1f, 0x8b];

/** The bytes of a file, inflated if it is a gzip. Throws InputError when the browser cannot read it. */
export async function openChunks(file: File, onBytes: (decoded: number) => void) {
  const head = new Uint8Array(await file.slice(0, 8).arrayBuffer());
  const begins = (magic: readonly number[]) => magic.every((byte, i) => head[i] === byte);
  const closed = CLOSED.find(([, magic]) => begins(magic));
  if (closed) throw new InputError(`${file.name} is ${closed[0]}, which a browser cannot open`);
  const isGzip = begins(GZIP);
  const stream = isGzip ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
  return {
    encodings: isGzip ? ['gzip'] : [],
    chunks: chunksOf(file.name, stream.getReader(), onBytes),
  };
}

async function* chunksOf(
  name: string,
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
  onBytes: (decoded: number) => void,
): AsyncGenerator<Uint8Array> {
  let decoded = 0;
  for (;;) {
    const { value, done } = await reader.read().catch((error: unknown) => {
      throw error instanceof TypeError
        ? new InputError(`${name} is cut off or damaged: its gzip data cannot be inflated to the end`)
        : new InputError(`${name} can no longer be read: was it changed meanwhile?`);
    });
    if (done) return;
    decoded += value.length;
    if (decoded > MOST_BYTES)
      throw new InputError(`${name} has more than ${MOST_BYTES / 1e9} GB of text, too much for a browser`);
    onBytes(decoded);
    yield value;
  }
}
