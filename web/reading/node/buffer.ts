/** As much of Node's Buffer as readers of traces need. */
export class Buffer extends Uint8Array {
  static override from(data: unknown, second?: unknown, length?: number): Buffer {
    if (typeof data === 'string') {
      if (second === 'latin1') return new Buffer(Array.from(data, (c) => c.charCodeAt(0)));
      return new Buffer(new TextEncoder().encode(data));
    }
    if (data instanceof ArrayBuffer) return new Buffer(data, second as number | undefined, length);
    return new Buffer(data as ArrayLike<number>);
  }

  static alloc(size: number): Buffer {
    return new Buffer(size);
  }

  static concat(pieces: readonly Uint8Array[]): Buffer {
    const whole = new Buffer(pieces.reduce((n, p) => n + p.length, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && this.every((byte, i) => byte === other[i]);
  }

  override indexOf(wanted: number | string, from = 0): number {
    if (typeof wanted === 'number') return super.indexOf(wanted, from);
    const bytes = new TextEncoder().encode(wanted);
    for (let at = super.indexOf(bytes[0]!, from); at >= 0; at = super.indexOf(bytes[0]!, at + 1))
      if (bytes.every((byte, i) => this[at + i] === byte)) return at;
    return -1;
  }

  override toString(encoding = 'utf8', from = 0, to = this.length): string {
    const bytes = this.subarray(from, to);
    return encoding === 'latin1'
      ? latin1(bytes)
      : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  }
}

/** Arguments of one call: engines take about 100,000. */
const PIECE = 8192;

/** A TextDecoder takes latin1 for windows-1252. */
function latin1(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE)
    text += String.fromCharCode.apply(null, bytes.subarray(at, at + PIECE) as unknown as number[]);
  return text;
}

export function isUtf8(bytes: Uint8Array<ArrayBuffer>): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
