/** A protobuf message that is being written: the other side of `readers/perfetto/wire.ts`, and independent of it. */
export class Message {
  #bytes = Buffer.alloc(64);
  #length = 0;

  /** A number of 64 bits; negative ones as protobuf has them. */
  number(field: number, value: number | bigint): this {
    return this.#varint(BigInt(field * 8)).#varint(BigInt.asUintN(64, BigInt(value)));
  }

  fixed64(field: number, value: number | bigint): this {
    this.#varint(BigInt(field * 8 + 1)).#room(8);
    this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), this.#length);
    this.#length += 8;
    return this;
  }

  double(field: number, value: number): this {
    this.#varint(BigInt(field * 8 + 1)).#room(8);
    this.#bytes.writeDoubleLE(value, this.#length);
    this.#length += 8;
    return this;
  }

  fixed32(field: number, value: number): this {
    this.#varint(BigInt(field * 8 + 5)).#room(4);
    this.#bytes.writeUInt32LE(value >>> 0, this.#length);
    this.#length += 4;
    return this;
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value));
  }

  message(field: number, inner: Message): this {
    return this.bytes(field, inner.finish());
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#varint(BigInt(field * 8 + 2))
      .#varint(BigInt(value.length))
      .raw(value);
  }

  raw(value: Uint8Array): this {
    this.#room(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #varint(value: bigint): this {
    this.#room(10);
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
    this.#bytes[this.#length++] = Number(rest);
    return this;
  }

  #room(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.alloc(2 * (this.#length + more));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
