import { headText } from '../common/text.js';

/** Keys that only manifests have: the header of an event log also has `whyslow`, `run`, `rank` and `anchors`. */
const OURS = ['world_size', 'mesh', 'local_rank', 'host', 'pid', 'device', 'coordinates'];
const NOT_OURS = ['traceEvents', 'ph', 'duration_ms'];

/** One JSON object with `whyslow` and a key that only manifests have, and nothing after it. The head may cut it. */
export function looksLikeManifest(head: Uint8Array): boolean {
  const text = headText(head);
  const keys = new Set<string>();
  const end = collectKeys(text, keys);
  // More text after it: JSON lines, and this was their header.
  if (end >= 0 && text.slice(end).trim() !== '') return false;
  return keys.has('whyslow') && OURS.some((k) => keys.has(k)) && !NOT_OURS.some((k) => keys.has(k));
}

/** Collects the keys of the outermost object. Returns where it ends; −1 where it is cut or not an object. */
function collectKeys(text: string, keys: Set<string>): number {
  let depth = 0;
  let expectsKey = false;
  for (let i = 0; i < text.length; i++) {
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

/** Position of the closing quote, or the end of the text. */
function endOfString(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i;
  }
  return text.length;
}
