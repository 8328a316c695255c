import { parseObject } from '../common/json-object.js';

/** What may stand before the first record: NUL padding, the tail of a torn record, a stray print. */
const MAX_BAD_LINES = 5;
/** A header too long for the head that is looked at. */
const CUT_HEADER = /^\{\s*"whyslow"\s*:/;

/** True when the first line that is a JSON object is a header or a record of the events tier. */
export function looksLikeEvents(head: Uint8Array): boolean {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('utf8');
  let bad = 0;
  for (const piece of text.split(/[\n\0]+/)) {
    const line = piece.trim();
    if (line === '') continue;
    const object = parseObject(line);
    if (object !== null) {
      // An event of a Chrome trace has a `ph`, and may have any field beside it.
      if ('traceEvents' in object || 'ph' in object) return false;
      return 'whyslow' in object || ('name' in object && 'duration_ms' in object);
    }
    if (CUT_HEADER.test(line)) return true;
    if (++bad > MAX_BAD_LINES) return false;
  }
  return false;
}
