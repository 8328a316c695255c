// Small numbers for what repeats: a kind is a phase with a category, a track is a pid with a tid.
import { alloc } from './memory';
import { count, TRACKS_FULL } from './counters';

export const MAX_KINDS: u32 = 255;
/** All kinds beyond the limit share this number. */
export const OTHER_KIND: u32 = MAX_KINDS;

// phase u32, category token u32, events f64, flows folded into the row before f64
const kinds: usize = alloc((MAX_KINDS + 1) * 24);
let kindCount: u32 = 0;

/** Called only while a shape is learned, so a plain search is fast enough. */
export function kindOf(phase: u32, category: u32): u32 {
  for (let k: u32 = 0; k < kindCount; k++) {
    if (load<u32>(kinds + k * 24) == phase && load<u32>(kinds + k * 24, 4) == category) return k;
  }
  if (kindCount == MAX_KINDS) return OTHER_KIND;
  const k = kindCount++;
  store<u32>(kinds + k * 24, phase); store<u32>(kinds + k * 24, category, 4);
  return k;
}
// @ts-ignore: decorator
@inline export function countEvent(kind: u32): void {
  const at = kinds + kind * 24;
  store<f64>(at, load<f64>(at, 8) + 1, 8);
}
export function countFolded(kind: u32): void {
  const at = kinds + kind * 24;
  store<f64>(at, load<f64>(at, 16) + 1, 16);
}
export function kindsAt(): usize { return kinds; }
export function kindsUsed(): u32 { return load<f64>(kinds + OTHER_KIND * 24, 8) > 0 ? MAX_KINDS + 1 : kindCount; }

export const MAX_TRACKS: u32 = 0xfffe;
const SLOTS: u32 = 1 << 17;
const trackSlots: usize = alloc(<usize>SLOTS * 4); // track + 1, or 0
const tracks: usize = alloc(<usize>(MAX_TRACKS + 1) * 8); // pid token u32, tid token u32
let trackCount: u32 = 0;

export function trackOf(pid: u32, tid: u32): u32 {
  let s = ((pid * 0x9e3779b1) ^ (tid * 0x85ebca6b)) >>> 15;
  while (true) {
    const at = trackSlots + (<usize>s << 2);
    const t = load<u32>(at);
    if (t == 0) {
      if (trackCount == MAX_TRACKS) { count(TRACKS_FULL); return MAX_TRACKS; }
      const id = trackCount++;
      store<u32>(tracks + (<usize>id << 3), pid); store<u32>(tracks + (<usize>id << 3), tid, 4);
      store<u32>(at, id + 1);
      return id;
    }
    const e = tracks + (<usize>(t - 1) << 3);
    if (load<u32>(e) == pid && load<u32>(e, 4) == tid) return t - 1;
    s = (s + 1) & (SLOTS - 1);
  }
}
export function tracksAt(): usize { return tracks; }
export function tracksUsed(): u32 { return trackCount; }
