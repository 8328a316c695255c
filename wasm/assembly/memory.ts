// Bump allocation in linear memory. Nothing is freed: tables grow by doubling, so the abandoned memory is at most as large
// as the memory in use, and the instance is dropped with the file it has read.

/** SIMD loads may run this far past the end of any block. */
export const SLACK: usize = 128;

let top: usize = (__heap_base + 15) & ~15;

export function alloc(bytes: usize): usize {
  const at = top;
  top = (at + bytes + SLACK + 15) & ~15;
  const have = <usize>memory.size() << 16;
  if (top > have) {
    const pages = <i32>((top - have + 0xffff) >> 16);
    if (memory.grow(max(pages, 16)) < 0 && memory.grow(pages) < 0) unreachable();
  }
  return at;
}

export function grown(old: usize, oldBytes: usize, bytes: usize): usize {
  const at = alloc(bytes);
  if (oldBytes) memory.copy(at, old, oldBytes);
  return at;
}
