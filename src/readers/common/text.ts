/** Bytes as characters of the same number: UTF-8 passes through untouched, and every byte is one character. */
export function latin1(bytes: Uint8Array, from = 0, to = bytes.length): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1');
}

/** The first bytes of a file as `latin1` text, without a byte order mark. For sniffing. */
export function headText(head: Uint8Array): string {
  return latin1(head).replace(/^\u00ef\u00bb\u00bf/, '');
}
