/** The fixed part of a gzip header with an extra field, including the field's length. */
export const HEADER = 12;
export const MAX_EXTRA = 0xffff;
/** In the flags of a header: it has an extra field. As all flags: and nothing else of varying length. */
export const EXTRA_ONLY = 4;

/** The extra field of the member whose header this is; null where there is none. */
export function extraField(head: Uint8Array): { readonly extra: Uint8Array | null; readonly flags: number } {
  const flags = head[3] ?? 0;
  const isGzip = head[0] === 0x1f && head[1] === 0x8b && head[2] === 8;
  if (!isGzip || (flags & EXTRA_ONLY) === 0 || head.length < HEADER) return { extra: null, flags };
  const end = HEADER + head[10]! + 256 * head[11]!;
  return { extra: end <= head.length ? head.subarray(HEADER, end) : null, flags };
}

/** Extra fields consist of subfields: two letters, a length, data. */
export function subfield(extra: Uint8Array, name: string): Uint8Array | null {
  for (let at = 0; at + 4 <= extra.length; ) {
    const start = at + 4;
    const end = start + extra[at + 2]! + 256 * extra[at + 3]!;
    if (end > extra.length) return null;
    if (extra[at] === name.charCodeAt(0) && extra[at + 1] === name.charCodeAt(1))
      return extra.subarray(start, end);
    at = end;
  }
  return null;
}
