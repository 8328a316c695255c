const collator = new Intl.Collator('en', { numeric: true });

/** Orders paths as people count: `rank2` before `rank10`, folder by folder. */
export function naturalOrder(a: string, b: string): number {
  const left = a.split('/');
  const right = b.split('/');
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    // `01` and `1` are equal to the collator: any order will do, but always the same one.
    const order = collator.compare(left[i], right[i]) || compareText(left[i], right[i]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
