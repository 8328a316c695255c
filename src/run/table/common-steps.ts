/** Step numbers that are in every list, in the order of the first. */
export function commonSteps([first = [], ...rest]: readonly (readonly number[])[]): number[] {
  const sets = rest.map((list) => new Set(list));
  return first.filter((step) => sets.every((set) => set.has(step)));
}
