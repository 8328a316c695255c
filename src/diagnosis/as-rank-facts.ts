import type { RankCollectives } from '../facts/rank-collectives.js';
import type { EventFacts } from '../logs/event-facts.js';
import type { RankFacts } from '../traces/rank-facts.js';

/** A log's facts in the shape that verdict and rules ask about, for ranks without a trace. */
export function asRankFacts(log: EventFacts, collectives: RankCollectives | null = null): RankFacts {
  const onDevice = log.phases.some((p) => p.clock !== 'host');
  return {
    source: 'events',
    ...{ light: false, phases: log.knowledge },
    ...{
      device: null,
      switches: [],
      gpu: null,
      collectives,
      kernels: [],
      detail: null,
      timeline: log.timeline,
    },
    ...{ hasGpuWork: onDevice, hasHostEvents: false },
    steps: {
      ...{ source: 'profiler', total: log.steps, count: log.steps, first: log.first, last: log.last },
      ...{ cut: false, irregular: log.step > 1.5 * log.medianStep, profiled: log.step },
      ...{ periods: log.periods, indices: log.indices },
    },
    time: log.time,
    timePerStep: log.timePerStep,
    copies: { toDevice: log.time.copy, toHost: 0 },
    input: {
      ...{
        inMain: 0,
        inWorkers: 0,
        unmarked: 0,
        waitPerStep: log.dataWaitPerStep,
        longest: null,
        restarts: [],
        name: null,
      },
      compile: { ns: 0, count: 0, name: null },
    },
  };
}
