import { ProblemLog } from '../../base/problem.js';
import type { Manifest } from '../../model/manifest.js';
import { parseObject } from '../common/json-object.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { toManifest } from './to-manifest.js';

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

interface ManifestRead extends ReadModel {
  /** Null: too large, or not JSON. */
  readonly manifest: Manifest | null;
}

/** A manifest has a few kilobytes; with the clock anchors of a whole day, a few hundred. */
export const MAX_BYTES = 1 << 20;

/** Holds the whole file, which is one small object. */
export class ManifestStreamReader implements StreamReader<ManifestRead> {
  #chunks: Buffer[] = [];
  #bytes = 0;

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= MAX_BYTES) this.#chunks.push(Buffer.from(chunk));
    else this.#chunks = [];
  }

  finish(): ManifestRead {
    const problems = new ProblemLog();
    const text = Buffer.concat(this.#chunks)
      .toString('utf8')
      .replace(/^\ufeff/, '');
    const object = this.#bytes > MAX_BYTES ? null : parseObject(text);
    if (this.#bytes > MAX_BYTES) problems.add('too-large', TOO_LARGE);
    else if (!object) problems.add('broken-manifest', BROKEN);
    return {
      manifest: object && toManifest(object, problems),
      problems: problems.list(),
    };
  }
}

const TOO_LARGE = { message: 'The manifest is larger than 1 MiB.', consequence: 'It was not read.' };
const BROKEN = {
  message: 'The manifest is not one JSON object; it may be cut short.',
  consequence: 'Nothing in it is used.',
};
