import type { RankFacts } from '../rank-facts.js';
import { totals } from '../timeline/accounting.js';
import type { EventFacts } from './event-facts.js';

/** A log's facts in the shape that verdict and rules ask about, for ranks without a trace. */
export function asRankFacts(log: EventFacts): RankFacts {
  const perStep = log.dataWaitPerStep;
  const onDevice = log.phases.some((p) => p.clock !== 'host');
  return {
    source: 'events',
    ...{ device: null, switches: [], gpu: null, kernels: [], detail: null },
    ...{ hasGpuWork: onDevice, hasHostEvents: false },
    steps: {
      ...{ source: 'profiler', total: log.steps, count: log.steps, first: log.first, last: log.last },
      ...{ cut: false, irregular: log.step > 1.5 * log.medianStep, profiled: log.step },
      ...{ periods: perStep.map(() => log.step), indices: [] },
    },
    time: log.time,
    timePerStep: perStep.map((data) => totals((c) => (c === 'idle_data' ? data : log.time[c]))),
    copies: { toDevice: log.time.copy, toHost: 0 },
    input: {
      ...{
        inMain: 0,
        inWorkers: 0,
        unmarked: 0,
        waitPerStep: perStep,
        longest: null,
        restarts: [],
        name: null,
      },
      compile: { ns: 0, count: 0, name: null },
    },
  };
}
