import { type Ns, ns } from '../base/units.js';
import type { RankCollectives } from '../facts/rank-collectives.js';
import type { PhaseKnowledge, RankFacts } from '../facts/rank-facts.js';
import type { EventFacts } from './event-facts.js';

/** One rank as its event log shows it, in the form that traces have too. */
export interface LogFacts extends RankFacts {
  readonly source: 'log';
  readonly phases: PhaseKnowledge;
  /** Phases by name, mean per recorded step. They may be nested. */
  readonly named: readonly { readonly name: string; readonly ns: Ns }[];
}

/** With a mean this many times the median, some steps take far longer than others. */
const IRREGULAR = 1.5;

/** `collectives`: recorded in the log, or found in the phases of all ranks. */
export function logFactsOf(log: EventFacts, collectives: RankCollectives | null): LogFacts {
  return {
    source: 'log',
    hasGpuWork: log.phases.some((p) => p.clock !== 'host'),
    steps: {
      source: 'profiler',
      total: log.steps,
      count: log.steps,
      first: log.first,
      last: log.last,
      irregular: log.step > IRREGULAR * log.medianStep,
      recorded: log.step,
      periods: log.periods,
      indices: log.indices,
    },
    time: log.time,
    timePerStep: log.timePerStep,
    copies: { toDevice: log.time.copy, toHost: ns(0) },
    collectives,
    timeline: log.timeline,
    phases: log.knowledge,
    named: log.phases.map(({ name, ns }) => ({ name, ns })),
  };
}
