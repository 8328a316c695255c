/** Bytes as characters of the same number: UTF-8 passes through untouched, and every byte is one character. */
export function latin1(bytes: Uint8Array, from = 0, to = bytes.length): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');
}

/** The beginning of a text, or with a negative number its end. A copy: a slice would keep the whole text in memory. */
export function clipped(text: string, most: number): string {
  const part = most >= 0 ? text.slice(0, most) : text.slice(most);
  // Short ones are copied anyway.
  return part.length < 13 ? part : Buffer.from(part).toString();
}

/** The first bytes of a file as `latin1` text, without a byte order mark. For sniffing. */
export function headText(head: Uint8Array): string {
  return latin1(head).replace(/^\u00ef\u00bb\u00bf/, '');
}

/** Whether a[from, to) equals the bytes at b[p]. */
export function sameBytes(a: Uint8Array, from: number, to: number, b: Uint8Array, p: number): boolean {
  let i = from;
  // Four at a time makes the whole scanner a fifth faster: the loop costs more than the comparison.
  for (; i + 4 <= to; i += 4, p += 4) {
    if (((a[i]! ^ b[p]!) | (a[i + 1]! ^ b[p + 1]!) | (a[i + 2]! ^ b[p + 2]!) | (a[i + 3]! ^ b[p + 3]!)) !== 0)
      return false;
  }
  for (; i < to; i++, p++) if (a[i] !== b[p]) return false;
  return true;
}
