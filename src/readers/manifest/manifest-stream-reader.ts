import { ProblemLog } from '../../base/problem.js';
import type { Manifest } from '../../model/manifest.js';
import { parseObject } from '../common/json-object.js';
import type { ReadModel, StreamReader } from '../common/reader.js';
import { toManifest } from './to-manifest.js';

export interface ManifestRead extends ReadModel {
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
