/** Parquet is not read in a browser. */
export function gunzipSync(): never {
  throw new Error('compressed pages are not read in a browser');
}
export const brotliDecompressSync = gunzipSync;
/** Packets that the Perfetto SDK has packed; the traces of PyTorch have none. */
export const inflateSync = gunzipSync;
