import { largest } from '../base/statistics.js';
import type { Plan } from './plan.js';
import { type RecordingCost, type Replayed, replay, type Standing } from './replay.js';

/** From one pass to the next, the step changes by less than this. */
const STEADY = 0.002;
/** The work that a pass leaves to the next one takes less than this share of a step. */
const DRY = 0.01;
const MOST_PASSES = 12;

/**
 * Plays the plan again and again until its steps take as long as in the pass before. The recorded window may begin with
 * seconds of queued work, behind which the host stays hidden: a price would count on that queue, and the running job soon
 * has another one. So the first pass begins with an empty queue. Where the first step counts, steps differ: such a window
 * does not repeat, and is played once, as it began.
 */
export function replaySteady(plan: Plan, recording: RecordingCost, slowdown = 1): Replayed {
  if (plan.steps.includesFirst) return replay(plan, recording, undefined, slowdown);
  let played = replay(plan, recording, emptyQueue(plan), slowdown);
  for (let pass = 1; pass < MOST_PASSES; pass++) {
    if (pass === 1 && largest(played.busyUntil) - played.hostEnd < DRY * played.step) return played;
    const next = replay(plan, recording, standingAfter(played), slowdown);
    const change = Math.abs(next.step - played.step);
    played = next;
    if (change <= STEADY * next.step) break;
  }
  return played;
}

const emptyQueue = ({ begin, streamBusyUntil }: Plan): Standing => ({
  now: begin,
  busyUntil: new Float64Array(streamBusyUntil.length).fill(begin),
  earlierEnds: new Float64Array(),
});

function standingAfter({ hostEnd, busyUntil, end }: Replayed): Standing {
  return { now: hostEnd, busyUntil, earlierEnds: end };
}
