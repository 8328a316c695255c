/** Parquet is not read in a browser. */
export function gunzipSync(): never {
  throw new Error('compressed pages are not read in a browser');
}
export const brotliDecompressSync = gunzipSync;
