import type { ReaderDescriptor } from '../common/reader.js';
import { headText } from '../common/text.js';
import { type ManifestRead, ManifestStreamReader } from './manifest-stream-reader.js';

/** `run.json` and `ranks/rank_<r>.json` of a capture. */
export const manifestReader: ReaderDescriptor<ManifestRead> = {
  id: 'manifest',
  title: 'a capture manifest (run.json, ranks/rank_<r>.json)',
  line: { one: 'manifest', many: 'manifests', counts: '', isUnlisted: true },
  sniff,
  create: () => new ManifestStreamReader(),
  digest: ({ manifest }) => ({ of: 'run', events: 0, evidence: manifest ? { manifest } : {} }),
};

/** Keys that only manifests have: the header of an event log also has `whyslow`, `run`, `rank` and `anchors`. */
const OURS = ['world_size', 'mesh', 'local_rank', 'host', 'pid', 'device', 'coordinates'];
const NOT_OURS = ['traceEvents', 'ph', 'duration_ms'];

/** One JSON object with `whyslow` and a key that only manifests have, and nothing after it. The head may cut it. */
function sniff(head: Uint8Array): boolean {
  const { keys, rest } = topLevelKeys(headText(head));
  // More text after it: JSON lines, and this was their header.
  if (rest.trim() !== '') return false;
  return keys.has('whyslow') && OURS.some((k) => keys.has(k)) && !NOT_OURS.some((k) => keys.has(k));
}

/** Strings, with a colon where they are keys, and brackets. */
const TOKENS = /"([^"\\]*(?:\\[\s\S][^"\\]*)*)"(\s*:)?|[{}[\]]/g;

/** The keys of the object that a text begins with, also where the text is cut, and the text after that object. */
function topLevelKeys(text: string): { keys: ReadonlySet<string>; rest: string } {
  const keys = new Set<string>();
  let depth = 0;
  if (!text.trimStart().startsWith('{')) return { keys, rest: text };
  for (const match of text.matchAll(TOKENS)) {
    const [token, string = '', colon] = match;
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') {
      if (--depth === 0) return { keys, rest: text.slice(match.index + 1) };
    } else if (depth === 1 && colon !== undefined) keys.add(string);
  }
  return { keys, rest: '' };
}
