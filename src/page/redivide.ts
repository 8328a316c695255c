import { sharesOfClasses, TIME_CLASSES, type TimeByClass, totals } from '../facts/time-class.js';

/**
 * Moves the time of single steps between classes as their total moved: classes that shrank give the same part of their time
 * in every step, those that grew share it. So steps that divide as `from` in total then divide as `to`, none gets longer or
 * shorter, and a step with more of a class than the others keeps more.
 */
export function redivide(from: TimeByClass, to: TimeByClass): (step: TimeByClass) => TimeByClass {
  const before = sharesOfClasses(from);
  const after = sharesOfClasses(to);
  const kept = totals((c) => (before[c] > after[c] ? after[c] / before[c] : 1));
  const gained = sharesOfClasses(totals((c) => Math.max(0, after[c] - before[c])));
  return (step) => {
    const given = TIME_CLASSES.reduce((sum, c) => sum + step[c] * (1 - kept[c]), 0);
    return totals((c) => step[c] * kept[c] + given * gained[c]);
  };
}
