/** Keys that an event log's header has not: it has `whyslow`, `run`, `rank` and `anchors` too. */
const OURS = ['world_size', 'mesh', 'local_rank', 'host', 'pid', 'device', 'coordinates'];
const NOT_OURS = ['traceEvents', 'ph', 'duration_ms'];

/** One JSON object and nothing behind it, with `whyslow` and something only manifests say; it may be cut by the head. */
export function looksLikeManifest(head: Uint8Array): boolean {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1');
  const keys = new Set<string>();
  const end = collectKeys(text, keys);
  // Something behind it: JSON lines, of which this was the header.
  if (end >= 0 && text.slice(end).trim() !== '') return false;
  return keys.has('whyslow') && OURS.some((k) => keys.has(k)) && !NOT_OURS.some((k) => keys.has(k));
}

/** Keys of the outermost object of a text that may be cut. Where it ends; −1 where it does not, or is none. */
function collectKeys(text: string, keys: Set<string>): number {
  let depth = 0;
  let expectsKey = false;
  for (let i = text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') {
      const end = endOfString(text, i);
      if (depth === 1 && expectsKey) keys.add(text.slice(i + 1, end));
      expectsKey = false;
      i = end;
    } else if (c === '{' || c === '[') {
      if (depth === 0 && c === '[') return -1;
      depth++;
      expectsKey = depth === 1;
    } else if (c === '}' || c === ']') {
      if (--depth === 0) return i + 1;
    } else if (c === ',') expectsKey = depth === 1;
    else if (depth === 0 && c.trim() !== '') return -1;
  }
  return -1;
}

/** Where the closing quote is, or the end of the text. */
function endOfString(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i;
  }
  return text.length;
}
