import { Cursor } from './cursor.js';
import type { Progress } from './decode.js';
import { type Encoding, encodingOf, HEAD_BYTES } from './encoding.js';
import { sliceExtent } from './extent.js';
import { gunzip } from './inflate.js';
import type { Layer } from './layer.js';
import { deliver, type Place, type Walk } from './member.js';
import { type TarMember, tarMembers } from './tar.js';

/** Nobody packs deeper on purpose; a quine of a gzip goes on for ever. */
const MAX_DEPTH = 4;

/** Finds every member in this layer, decoding what is encoded. False when the visitor asked to stop. */
export async function walkLayer(layer: Layer, place: Place, walk: Walk): Promise<boolean> {
  try {
    const encoding = encodingOf(await layer.cursor.peek(HEAD_BYTES));
    if (encoding === null) return await deliver(layer, place, walk);
    if (place.encodings.length >= MAX_DEPTH) {
      reportDepth(place, walk);
      return true;
    }
    const inside: Place = { ...place, encodings: [...place.encodings, encoding] };
    return await openers[encoding](layer, inside, walk);
  } finally {
    await layer.cursor.close();
  }
}

type Opener = (layer: Layer, place: Place, walk: Walk) => Promise<boolean>;

const openers: Readonly<Record<Encoding, Opener>> = {
  gzip(layer, place, walk) {
    const progress: Progress = { consumed: 0 };
    // Only around everything else does the decoder know better than the file how much of it is used up.
    const stored = place.encodings.length === 1 ? () => progress.consumed : layer.stored;
    const cursor = new Cursor(gunzip(layer, walk, progress));
    return walkLayer({ cursor, extent: null, size: layer.size, stored }, place, walk);
  },

  // These two bring a library along, which takes longer to load than most files to read: only when needed.
  async zstd(layer, place, walk) {
    const { unzstd } = await import('./zstd.js');
    const cursor = new Cursor(unzstd(layer, walk));
    return walkLayer({ ...layer, cursor, extent: null }, place, walk);
  },

  tar(layer, place, walk) {
    return walkMembers(tarMembers(layer, walk.faults), (member) => tarLayer(layer, member), place, walk);
  },

  async zip(layer, place, walk) {
    const { zipMembers } = await import('./zip.js');
    return walkMembers(zipMembers(layer, walk, place.path), (member) => member.layer, place, walk);
  },
};

async function walkMembers<M extends { readonly name: string }>(
  members: AsyncIterable<M>,
  layerOf: (member: M) => Layer,
  place: Place,
  walk: Walk,
): Promise<boolean> {
  let isFirst = true;
  for await (const member of members) {
    walk.faults.settle();
    const layer = layerOf(member);
    const path = `${place.path}!${member.name}`;
    const name = member.name.slice(member.name.lastIndexOf('/') + 1);
    // Decoders work ahead, so what they have used up by now already holds the first member.
    const start = isFirst ? place.start : layer.stored();
    isFirst = false;
    if (!(await walkLayer(layer, { ...place, path, name, start }, walk))) return false;
  }
  return true;
}

function tarLayer(archive: Layer, { chunks, start, size }: TarMember): Layer {
  const extent = archive.extent && sliceExtent(archive.extent, start, size);
  return { cursor: new Cursor(chunks), extent, size, stored: archive.stored };
}

function reportDepth(place: Place, walk: Walk): void {
  const message = `${place.path} is packed more than ${MAX_DEPTH} times (${place.encodings.join(', ')}, …).`;
  walk.faults.add('nested-too-deep', { message, consequence: 'Its inside was not read: unpack it first.' });
}
