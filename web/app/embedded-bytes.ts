/** Gzip as base64, in an element that nothing executes. */
export async function embeddedBytes(id: string): Promise<Uint8Array<ArrayBuffer>> {
  const text = document.getElementById(id)?.textContent ?? '';
  const zipped = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
