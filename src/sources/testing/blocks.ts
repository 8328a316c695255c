/** Gzip files in blocks, made byte by byte, so that tests can choose the blocks and break them anywhere. */
import { constants, crc32, deflateRawSync } from 'node:zlib';

/** As `whyslow_capture/trace/block_gzip.py` writes it. */
export function indexedGzip(data: Uint8Array, blockBytes: number, level = 6): Buffer {
  const parts = partsOf(data, blockBytes);
  const packer = new BlockPacker(blockBytes, level);
  const packed = parts.map((part, i) => packer.pack(part, i === parts.length - 1));
  return Buffer.concat([packer.header(), ...packed, packer.trailer()]);
}

/** The same, block by block. The header is known when all are packed. */
export class BlockPacker {
  readonly #entries: Buffer[] = [];
  #crc = 0;
  #bytes = 0;

  constructor(
    readonly blockBytes: number,
    readonly level: number,
  ) {}

  pack(part: Uint8Array, isLast: boolean): Buffer {
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_FULL_FLUSH;
    const packed = deflateRawSync(part, { level: this.level, finishFlush });
    this.#crc = crc32(part, this.#crc);
    this.#bytes += part.length;
    this.#entries.push(u32(packed.length), u32(this.#crc));
    return packed;
  }

  header(): Buffer {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(this.#bytes));
    return header('WS', Buffer.concat([u32(1), u32(this.blockBytes), bytes, ...this.#entries]));
  }

  trailer(): Buffer {
    return Buffer.concat([u32(this.#crc), u32(this.#bytes)]);
  }
}

/** As bgzip writes it, with its empty last member. Members of less than 64 KiB. */
export function bgzip(data: Uint8Array, memberBytes: number, level = 6): Buffer {
  const members = [...partsOf(data, memberBytes), new Uint8Array(0)].map((part) => {
    const bytes = deflateRawSync(part, { level });
    const length = Buffer.alloc(2);
    length.writeUInt16LE(18 + bytes.length + 8 - 1);
    return Buffer.concat([header('BC', length), bytes, u32(crc32(part)), u32(part.length)]);
  });
  return Buffer.concat(members);
}

function partsOf(data: Uint8Array, length: number): Uint8Array[] {
  const count = Math.ceil(data.length / length);
  return Array.from({ length: count }, (_, i) => data.subarray(i * length, (i + 1) * length));
}

/** A gzip header with one subfield in its extra field. */
function header(name: string, content: Uint8Array): Buffer {
  const head = Buffer.from([
    0x1f,
    0x8b,
    8,
    4,
    0,
    0,
    0,
    0,
    0,
    0xff,
    0,
    0,
    name.charCodeAt(0),
    name.charCodeAt(1),
    0,
    0,
  ]);
  head.writeUInt16LE(content.length + 4, 10);
  head.writeUInt16LE(content.length, 14);
  return Buffer.concat([head, content]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value % 2 ** 32);
  return bytes;
}
