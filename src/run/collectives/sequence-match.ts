/** Longest lists that are compared in full: 1 M cells, a few milliseconds. */
const MAX_CELLS = 1 << 20;
/** How far the quick comparison looks ahead for the next pair. */
const LOOK_AHEAD = 256;

/**
 * Which elements of two lists belong together, in order: for each of `own` the place in `reference`, −1 for none. A
 * longest common subsequence where lists are short once their equal ends are taken off; a greedy one beyond.
 */
export function commonPlaces(reference: Int32Array, own: Int32Array): Int32Array {
  const places = new Int32Array(own.length).fill(-1);
  let from = 0;
  const least = Math.min(reference.length, own.length);
  while (from < least && reference[from] === own[from]) {
    places[from] = from;
    from++;
  }
  let [refEnd, ownEnd] = [reference.length, own.length];
  while (refEnd > from && ownEnd > from && reference[refEnd - 1] === own[ownEnd - 1])
    places[--ownEnd] = --refEnd;
  const [rows, columns] = [refEnd - from, ownEnd - from];
  if (rows === 0 || columns === 0) return places;
  const pairs = (rows + 1) * (columns + 1) <= MAX_CELLS && rows < 65_536 ? longest : greedy;
  pairs(reference.subarray(from, refEnd), own.subarray(from, ownEnd), (r, o) => {
    places[from + o] = from + r;
  });
  return places;
}

type Take = (reference: number, own: number) => void;

function longest(a: Int32Array, b: Int32Array, take: Take): void {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const at = i * width + j;
      lengths[at] =
        a[i] === b[j]
          ? lengths[at + width + 1]! + 1
          : lengths[at + width]! >= lengths[at + 1]!
            ? lengths[at + width]!
            : lengths[at + 1]!;
    }
  }
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const at = i * width + j;
    if (a[i] === b[j]) take(i++, j++);
    else if (lengths[at + width]! >= lengths[at + 1]!) i++;
    else j++;
  }
}

/** On a difference, the nearest pair ahead, skipping as little as possible on both sides together. */
function greedy(a: Int32Array, b: Int32Array, take: Take): void {
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      take(i++, j++);
      continue;
    }
    const skip = nearest(a, b, i, j);
    // Nothing near: neither has a partner within sight.
    i += skip?.[0] ?? LOOK_AHEAD;
    j += skip?.[1] ?? LOOK_AHEAD;
  }
}

function nearest(a: Int32Array, b: Int32Array, i: number, j: number): readonly [number, number] | null {
  const seen = new Map<number, number>();
  let best: readonly [number, number] | null = null;
  for (let k = 0; k < LOOK_AHEAD && i + k < a.length; k++) if (!seen.has(a[i + k]!)) seen.set(a[i + k]!, k);
  for (let k = 0; k < LOOK_AHEAD && j + k < b.length; k++) {
    const at = seen.get(b[j + k]!);
    if (at !== undefined && (!best || at + k < best[0] + best[1])) best = [at, k];
  }
  return best;
}
