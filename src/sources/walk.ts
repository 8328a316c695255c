import type { Progress } from './careful-decode.js';
import { Cursor } from './cursor.js';
import { type Encoding, encodingOf, HEAD_BYTES } from './encoding.js';
import { sliceExtent } from './extent.js';
import { gunzip } from './gunzip.js';
import type { Layer } from './layer.js';
import { deliver, type Origin, type Walk } from './member.js';
import { type TarMember, tarMembers } from './tar.js';

/** Nobody packs deeper on purpose, and a gzip quine would go on forever. */
const MAX_DEPTH = 4;

/** Finds every member in this layer and decodes what is encoded. */
export async function walkLayer(layer: Layer, origin: Origin, walk: Walk): Promise<void> {
  try {
    const encoding = encodingOf(await layer.cursor.peek(HEAD_BYTES));
    if (encoding === null) await deliver(layer, origin, walk);
    else if (origin.encodings.length >= MAX_DEPTH) reportDepth(origin, walk);
    else await openers[encoding](layer, { ...origin, encodings: [...origin.encodings, encoding] }, walk);
  } finally {
    await layer.cursor.close();
  }
}

type Opener = (layer: Layer, origin: Origin, walk: Walk) => Promise<void>;

const openers: Readonly<Record<Encoding, Opener>> = {
  gzip(layer, origin, walk) {
    const progress: Progress = { consumed: 0 };
    // Only an outermost decoder knows better than the file how much of it was consumed.
    const stored = origin.encodings.length === 1 ? () => progress.consumed : layer.stored;
    const lending = layer.extent?.startInflater && { isOn: false };
    const cursor = new Cursor(gunzip(layer, walk.faults, progress, lending));
    return walkLayer({ cursor, extent: null, size: layer.size, stored, lending }, origin, walk);
  },

  // zstd and zip need a library that takes longer to load than most files to read, so it is loaded only when needed.
  async zstd(layer, origin, walk) {
    const { unzstd } = await import('./zstd.js');
    const cursor = new Cursor(unzstd(layer, walk.faults));
    return walkLayer({ cursor, extent: null, size: layer.size, stored: layer.stored }, origin, walk);
  },

  tar(layer, origin, walk) {
    return walkMembers(tarMembers(layer, walk.faults), (member) => tarLayer(layer, member), origin, walk);
  },

  async zip(layer, origin, walk) {
    const { zipMembers } = await import('./zip.js');
    const members = zipMembers(layer, walk.faults, origin.path);
    return walkMembers(members, (member) => member.layer, origin, walk);
  },
};

async function walkMembers<M extends { readonly name: string }>(
  members: AsyncIterable<M>,
  layerOf: (member: M) => Layer,
  archive: Origin,
  walk: Walk,
): Promise<void> {
  let isFirst = true;
  for await (const member of members) {
    walk.faults.assignToFile();
    const layer = layerOf(member);
    const label = shortened(member.name, walk);
    const path = `${archive.path}!${label}`;
    const name = label.slice(label.lastIndexOf('/') + 1);
    // Decoders work ahead, so what they have consumed by now already includes the first member.
    const start = isFirst ? archive.start : layer.stored();
    isFirst = false;
    await walkLayer(layer, { path, name, encodings: archive.encodings, start }, walk);
  }
}

/** The longest path of Linux. Every name is kept until the end, and packed names may be a thousand times as long. */
const MAX_NAME = 4096;

function shortened(name: string, walk: Walk): string {
  if (name.length <= MAX_NAME) return name;
  const message = `The archive has a file name of more than ${MAX_NAME} characters.`;
  walk.faults.add('long-name', { message, consequence: 'Its name is cut; its content was read.' });
  // Through bytes, because a slice would keep the whole name alive.
  return Buffer.from(name.slice(0, MAX_NAME)).toString();
}

function tarLayer(archive: Layer, { chunks, start, size }: TarMember): Layer {
  const extent = archive.extent && sliceExtent(archive.extent, start, size);
  return { cursor: new Cursor(chunks), extent, size, stored: archive.stored };
}

function reportDepth(origin: Origin, walk: Walk): void {
  const message = `${origin.path} is packed more than ${MAX_DEPTH} times (${origin.encodings.join(', ')}, …).`;
  walk.faults.add('nested-too-deep', { message, consequence: 'It was not read: unpack it first.' });
}
