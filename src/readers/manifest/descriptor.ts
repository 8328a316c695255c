import type { ReaderDescriptor } from '../common/reader.js';
import { ManifestStreamReader } from './manifest-stream-reader.js';
import { looksLikeManifest } from './sniff.js';

/** `run.json` and `ranks/rank_<r>.json` of a capture. */
export const manifestReader: ReaderDescriptor = {
  id: 'manifest',
  title: 'a capture manifest (run.json, ranks/rank_<r>.json)',
  sniff: looksLikeManifest,
  create: () => new ManifestStreamReader(),
};
