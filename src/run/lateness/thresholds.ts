/** Thresholds that several ways of being late share. How they were tested: docs/method.md, Across ranks. */

/** Robust z-score above which a rank stands out from the others (Iglewicz and Hoaglin 1993). */
export const LATE_Z = 3.5;
/** The least lateness worth naming, as a share of the step: less is within the noise of real runs. */
export const LATE_SHARE = 0.05;
/** The least cost worth naming, as a share of the step, mean over all steps: a smaller gain nobody would measure. */
const LEAST_COST = 0.02;
/** The same for a rank that was late once, as a share of that step: every machine pauses a little now and then. */
const LEAST_ONCE = 0.4;

/** What a rank that is late in `late` of `all` steps must cost to be named: a share of the step, mean over all steps. */
export const leastCost = (late: number, all: number) => (late > 1 ? LEAST_COST : LEAST_ONCE / all);
/** A rank that is late in at least this share of the steps is late persistently. Our choice: most of the time. */
export const MOST_STEPS = 0.5;
/** A rank is not named where chance explains its being last with more than this probability: the usual 1 %. */
export const MAX_CHANCE = 0.01;
