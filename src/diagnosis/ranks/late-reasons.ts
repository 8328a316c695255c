import { roleOf } from '../../logs/phases.js';
import type { Comparison } from '../../run/compare.js';
import { type OwnPhases, withLatePhases, withSlowGpus } from '../../run/lateness/late-ranks.js';
import type { ComparedViews } from './compare-views.js';
import type { RunLocations } from './locations.js';
import type { RankView } from './rank-view.js';

/** Adds what telemetry says about the GPUs of late ranks, and event logs about their phases. */
export function withReasons({ comparison, from }: ComparedViews, locations: RunLocations): Comparison | null {
  if (!comparison) return null;
  const late = withSlowGpus(comparison.late, locations.gpus);
  return {
    ...comparison,
    late: withLatePhases(late, new Map(from.map((view) => [view.rank, ownPhases(view)]))),
  };
}

function ownPhases(view: RankView): OwnPhases {
  const log = view.source === 'log' ? view : view.log;
  const named = log?.facts.named.filter(({ name }) => roleOf(name) === 'own') ?? [];
  return new Map(named.map(({ name, ns }) => [name, ns]));
}
