// What to do with the value of each key. Two sets: keys of the event itself, and of its "args". The host fills them.
import { alloc } from './memory';

const SLOTS: u32 = 512;
// Per slot: hash of set and key u32, length u32, op u32, detail u32, key bytes 48
const SLOT: usize = 64;
const MAX_KEY: u32 = 48;
const slots: usize = alloc(<usize>SLOTS * SLOT);

export let foundOp: u32 = 0;
export let foundDetail: u32 = 0;

function hash(p: usize, length: u32, inArgs: u32): u32 {
  let h: u32 = 2166136261 ^ (inArgs + 1);
  for (let i: u32 = 0; i < length; i++) h = (h ^ load<u8>(p + i)) * 16777619;
  return h;
}
function sameBytes(a: usize, b: usize, length: u32): bool {
  for (let i: u32 = 0; i < length; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

export function addKey(p: usize, length: u32, inArgs: u32, op: u32, detail: u32): void {
  const h = hash(p, length, inArgs);
  let s = h & (SLOTS - 1);
  while (load<u32>(slots + <usize>s * SLOT, 8)) s = (s + 1) & (SLOTS - 1);
  const at = slots + <usize>s * SLOT;
  store<u32>(at, h); store<u32>(at, length, 4); store<u32>(at, op, 8); store<u32>(at, detail, 12);
  memory.copy(at + 16, p, length);
}

export function findKey(p: usize, length: u32, inArgs: u32): bool {
  if (length > MAX_KEY) return false;
  const h = hash(p, length, inArgs);
  let s = h & (SLOTS - 1);
  while (true) {
    const at = slots + <usize>s * SLOT;
    // An empty slot has no op. A key may be empty: counters have one value without a name.
    if (!load<u32>(at, 8)) return false;
    if (load<u32>(at) == h && load<u32>(at, 4) == length && sameBytes(p, at + 16, length)) {
      foundOp = load<u32>(at, 8);
      foundDetail = load<u32>(at, 12);
      return true;
    }
    s = (s + 1) & (SLOTS - 1);
  }
}
