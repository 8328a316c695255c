/** Computes an answer once for each object, such as a view or a plan, and keeps it as long as the object. */
export function oncePer<Key extends object, T>(compute: (key: Key) => T): (key: Key) => T {
  const answers = new WeakMap<Key, { readonly answer: T }>();
  return (key) => {
    const known = answers.get(key) ?? { answer: compute(key) };
    answers.set(key, known);
    return known.answer;
  };
}
