/** Lists up to this many cells (about a thousand entries each) are compared in full: a few milliseconds. */
const MAX_CELLS = 1 << 20;
/** How far the quick comparison looks ahead for the next equal pair. */
const LOOK_AHEAD = 256;

/**
 * Which elements of two lists belong together, in order: for each of `own` its index in `reference`, −1 for none. The
 * longest common subsequence where the lists are short once equal ends are taken off, a greedy one otherwise.
 */
export function commonSubsequence(reference: Int32Array, own: Int32Array): Int32Array {
  const indices = new Int32Array(own.length).fill(-1);
  const shorter = Math.min(reference.length, own.length);
  let from = 0;
  for (; from < shorter && reference[from] === own[from]; from++) indices[from] = from;
  let [refEnd, ownEnd] = [reference.length, own.length];
  while (refEnd > from && ownEnd > from && reference[refEnd - 1] === own[ownEnd - 1])
    indices[--ownEnd] = --refEnd;
  const [rows, columns] = [refEnd - from, ownEnd - from];
  if (rows === 0 || columns === 0) return indices;
  const pairUp = (rows + 1) * (columns + 1) <= MAX_CELLS && rows < 65_536 ? longest : greedy;
  pairUp(reference.subarray(from, refEnd), own.subarray(from, ownEnd), (r, o) => {
    indices[from + o] = from + r;
  });
  return indices;
}

type Take = (reference: number, own: number) => void;

/** `lengths[i, j]`: length of the longest common subsequence of a from i on and b from j on. */
function longest(a: Int32Array, b: Int32Array, take: Take): void {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const cell = i * width + j;
      lengths[cell] =
        a[i] === b[j] ? lengths[cell + width + 1]! + 1 : Math.max(lengths[cell + width]!, lengths[cell + 1]!);
    }
  }
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const cell = i * width + j;
    if (a[i] === b[j]) take(i++, j++);
    else if (lengths[cell + width]! >= lengths[cell + 1]!) i++;
    else j++;
  }
}

/** At a difference takes the nearest equal pair ahead: the one that skips the fewest elements of both lists together. */
function greedy(a: Int32Array, b: Int32Array, take: Take): void {
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      take(i++, j++);
      continue;
    }
    const [skipA, skipB] = nearest(a, b, i, j);
    i += skipA;
    j += skipB;
  }
}

function nearest(a: Int32Array, b: Int32Array, i: number, j: number): readonly [number, number] {
  const seen = new Map<number, number>();
  for (let k = 0; k < LOOK_AHEAD && i + k < a.length; k++) if (!seen.has(a[i + k]!)) seen.set(a[i + k]!, k);
  let best: readonly [number, number] = [LOOK_AHEAD, LOOK_AHEAD];
  for (let k = 0; k < LOOK_AHEAD && j + k < b.length; k++) {
    const skip = seen.get(b[j + k]!);
    if (skip !== undefined && skip + k < best[0] + best[1]) best = [skip, k];
  }
  return best;
}
