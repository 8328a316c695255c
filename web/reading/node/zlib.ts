/** Packets that the Perfetto SDK has compressed. Traces of PyTorch have none, so a browser does not read them. */
export function inflateSync(): never {
  throw new Error('compressed packets are not read in a browser');
}
