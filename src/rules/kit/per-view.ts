import type { TraceView } from '../../diagnosis/ranks/rank-view.js';

/** Computes an answer once for each rank. Several rules ask the same, and replaying is what rules spend their time on. */
export function perView<T>(compute: (view: TraceView) => T): (view: TraceView) => T {
  const answers = new WeakMap<TraceView, { readonly answer: T }>();
  return (view) => {
    const known = answers.get(view) ?? { answer: compute(view) };
    answers.set(view, known);
    return known.answer;
  };
}
