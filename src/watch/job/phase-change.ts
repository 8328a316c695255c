import { roleOf } from '../../logs/phases.js';
import type { IncidentCause } from '../../model/incident.js';
import type { Stretch } from '../steps/fading-history.js';

/** One part of the step of a rank, per step, before and since a change. ms. */
export interface PartChange {
  readonly name: string;
  readonly cause: IncidentCause;
  readonly before: number;
  readonly after: number;
}

/** What no phase explains: the job's own Python between its phases. */
const REST = 'the rest of the step';

/** How the parts of a step changed, the one that grew most first. Waits for other ranks are a part of their own. */
export function partChanges(before: Stretch, after: Stretch): readonly PartChange[] {
  const [old, late] = [partsOf(before), partsOf(after)];
  const names = [...new Set([...old.keys(), ...late.keys()])];
  return names
    .map((name) => ({
      name,
      cause: causeOfPart(name),
      before: old.get(name) ?? 0,
      after: late.get(name) ?? 0,
    }))
    .sort((a, b) => b.after - b.before - (a.after - a.before));
}

/** Per step. A phase of the job's own may be inside the others, so it counts only if they do not explain its time. */
function partsOf({ phases, whole, count }: Stretch): ReadonlyMap<string, number> {
  const parts = new Map<string, number>();
  let known = 0;
  for (const [name, ms] of phases) {
    if (roleOf(name) === 'own') continue;
    parts.set(name, ms / count);
    known += ms;
  }
  parts.set(REST, Math.max(0, whole - known) / count);
  return parts;
}

function causeOfPart(name: string): IncidentCause {
  if (name === REST) return 'host';
  const role = roleOf(name);
  if (role === 'data') return 'loader';
  if (role === 'copy') return 'copies';
  if (role === 'comms') return 'network';
  return role === 'compute' ? 'compute' : 'host';
}

/** Factors this close are the same. */
const ALIKE = 0.4;
/**
 * A part that grew by less of what the passes did has not grown with them. Larger activations also push the optimizer's data out of
 * the caches: on a CPU, with passes of 1.95×, an optimizer of 1 ms took 1.36×.
 */
const UNCHANGED = 0.5;

/**
 * Whether the model got more to compute per step: longer sequences, a larger batch. Forward and backward pass grow by about the
 * same factor then, and the optimizer, whose work depends on the parameters alone, does not. Whatever slows the machine
 * down slows the optimizer too, but for the clock of a GPU, as the optimizer waits for memory.
 */
export function isMoreWork(parts: readonly PartChange[]): boolean {
  const growth = (name: string): number | null => {
    const part = parts.find((p) => p.name === name);
    return part && part.before > 0 ? part.after / part.before - 1 : null;
  };
  const [forward, backward, optimizer] = [growth('forward'), growth('backward'), growth('optimizer')];
  if (forward === null || backward === null || optimizer === null) return false;
  const passes = Math.min(forward, backward);
  if (passes <= 0 || Math.abs(forward - backward) > ALIKE * Math.max(forward, backward)) return false;
  const grown = parts.reduce((sum, p) => sum + Math.max(0, p.after - p.before), 0);
  const ofPasses = parts
    .filter((p) => p.cause === 'compute')
    .reduce((sum, p) => sum + Math.max(0, p.after - p.before), 0);
  return optimizer < UNCHANGED * passes && ofPasses > grown / 2;
}
