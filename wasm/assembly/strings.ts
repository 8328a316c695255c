// Interns raw JSON tokens with their quotes, so that the number 5 and the string "5" differ. The host decodes each id once,
// on demand.
import { alloc, grown } from './memory';
import { count, eventOffset, LONG_STRING, STRINGS_FULL } from './counters';

/** No token: id 0 is kept for it. */
export const NO_TOKEN: u32 = 0;
/** Longer tokens are cut: no name needs more, and a file of one endless string must not fill the memory. */
export const MAX_STRING: u32 = 65536;
const MAX_IDS: u32 = 4 << 20;
const MAX_BYTES: usize = 256 << 20;
const BLOCK: usize = 256 << 10;

const K1: u64 = 0x9e3779b97f4a7c15, K2: u64 = 0xc2b2ae3d27d4eb4f;

let slots: u32 = 1 << 13;
let table: usize = alloc(<usize>slots * 16); // hash u32, id u32, address u32, length + 1 u32
let ids: u32 = 1;
let idCapacity: u32 = 1 << 12;
let index: usize = alloc(<usize>idCapacity * 16); // address u32, length | ODD, f64 offset where first seen
let block: usize = 0, blockEnd: usize = 0;
let bytes: usize = 0;
/** Set in the length when the token has a byte below 0x20 or above 0x7e: the host checks those tokens. */
const ODD: u32 = 0x80000000;

export function stringCount(): u32 { return ids; }
export function stringBytes(): usize { return bytes; }

// @ts-ignore: decorator
@inline function mask(len: u32): u64 { return len >= 8 ? ~(<u64>0) : ((<u64>1 << (len << 3)) - 1); }

// @ts-ignore: decorator
@inline function hash(p: usize, len: u32): u32 {
  let h: u64 = <u64>len * K1;
  if (len > 16) {
    let h2 = h;
    const last = p + len - 16;
    for (let a = p; a < last; a += 16) {
      h = (h ^ load<u64>(a)) * K1; h2 = (h2 ^ load<u64>(a, 8)) * K2;
      h ^= h >> 29; h2 ^= h2 >> 31;
    }
    h = (h ^ load<u64>(last)) * K1; h2 = (h2 ^ load<u64>(last, 8)) * K2;
    h ^= h2 >> 32;
  } else if (len > 8) {
    h = (h ^ load<u64>(p)) * K1;
    h ^= load<u64>(p + len - 8) * K2;
  } else h ^= load<u64>(p) & mask(len);
  h *= K2;
  return <u32>(h ^ (h >> 32));
}

// @ts-ignore: decorator
@inline function same(a: usize, b: usize, len: u32): bool {
  let i: u32 = 0;
  for (; i + 16 <= len; i += 16) if (v128.any_true(v128.xor(v128.load(a + i), v128.load(b + i)))) return false;
  if (i + 8 <= len) { if (load<u64>(a + i) != load<u64>(b + i)) return false; i += 8; }
  return ((load<u64>(a + i) ^ load<u64>(b + i)) & mask(len - i)) == 0;
}

export function intern(p: usize, len: u32): u32 {
  if (len > MAX_STRING) { count(LONG_STRING); len = MAX_STRING; }
  const h = hash(p, len);
  let s = h & (slots - 1);
  while (true) {
    const t = table + (<usize>s << 4);
    const l = load<u32>(t, 12);
    if (l == 0) return add(p, len, h, t);
    if (load<u32>(t) == h && l == len + 1 && same(p, load<u32>(t, 8), len)) return load<u32>(t, 4);
    s = (s + 1) & (slots - 1);
  }
}

function add(p: usize, len: u32, h: u32, slot: usize): u32 {
  if (ids >= MAX_IDS || bytes + len > MAX_BYTES) { count(STRINGS_FULL); return NO_TOKEN; }
  if (block + len > blockEnd) {
    const size = max(BLOCK, <usize>len);
    block = alloc(size);
    blockEnd = block + size;
  }
  memory.copy(block, p, len);
  const id = ids++;
  if (id == idCapacity) {
    index = grown(index, <usize>idCapacity * 16, <usize>idCapacity * 32);
    idCapacity *= 2;
  }
  store<u32>(slot, h); store<u32>(slot, id, 4); store<u32>(slot, <u32>block, 8); store<u32>(slot, len + 1, 12);
  const at = index + (<usize>id << 4);
  store<u32>(at, <u32>block); store<u32>(at, len | (isOdd(p, len) ? ODD : 0), 4); store<f64>(at, eventOffset(), 8);
  block += len;
  bytes += len;
  if (ids * 5 > slots * 3) rehash();
  return id;
}

function isOdd(p: usize, len: u32): bool {
  for (let i: u32 = 0; i < len; i++) if (<u32>load<u8>(p + i) - 0x20 > 0x5e) return true;
  return false;
}

function rehash(): void {
  const old = table, oldSlots = slots;
  slots *= 2;
  table = alloc(<usize>slots * 16);
  for (let i: u32 = 0; i < oldSlots; i++) {
    const from = old + (<usize>i << 4);
    if (load<u32>(from, 12) == 0) continue;
    let s = load<u32>(from) & (slots - 1);
    while (load<u32>(table + (<usize>s << 4), 12)) s = (s + 1) & (slots - 1);
    memory.copy(table + (<usize>s << 4), from, 16);
  }
}

/** Copies all tokens end to end for the host; returns the address. The index keeps their lengths and offsets. */
export function packStrings(): usize {
  const out = alloc(bytes);
  let at = out;
  for (let i: u32 = 0; i < ids; i++) {
    const e = index + (<usize>i << 4), len = load<u32>(e, 4) & ~ODD;
    memory.copy(at, load<u32>(e), len);
    at += len;
  }
  return out;
}
export function stringIndexAt(): usize { return index; }
