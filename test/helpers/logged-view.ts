import { ns } from '../../src/base/units.js';
import { type LogView, viewLog } from '../../src/diagnosis/ranks/rank-view.js';
import type { PhaseKnowledge } from '../../src/facts/rank-facts.js';
import { type TimeClass, totals } from '../../src/facts/time-class.js';

/** A log of a GPU job that does not know when the host set the pace. */
export const PHASES: PhaseKnowledge = {
  placed: true,
  allHost: false,
  hostPaced: null,
  copyingHost: null,
  inputLine: null,
  modelTimed: true,
};

/** A GPU job of ten equal steps, known from an event log alone. ms by class. */
export function loggedView(classes: Partial<Record<TimeClass, number>>): LogView {
  const time = totals((c) => (classes[c] ?? 0) * 1e6);
  const step = ns(Object.values(classes).reduce((sum, ms) => sum + ms, 0) * 1e6);
  const indices = Array.from({ length: 10 }, (_, i) => i);
  const facts = {
    source: 'log' as const,
    hasGpuWork: true,
    steps: {
      source: 'profiler' as const,
      total: 10,
      count: 10,
      first: 0,
      last: 9,
      irregular: false,
      recorded: step,
      periods: indices.map(() => step),
      indices,
    },
    time,
    timePerStep: indices.map(() => time),
    copies: { toDevice: ns(0), toHost: ns(0) },
    collectives: null,
    timeline: null,
    phases: PHASES,
    change: null,
    paces: [],
    named: [],
  };
  return viewLog(0, facts, { step, job: null, notes: [] });
}
