/** Thresholds that several ways of being late share. How they were tested: docs/method.md, Across ranks. */

/** Robust z-score above which a rank stands out from the others (Iglewicz and Hoaglin 1993). */
export const LATE_Z = 3.5;
/** The least lateness worth naming, as a share of the step: less is within the noise of real runs. */
export const LATE_SHARE = 0.05;
/** A rank that is late in at least this share of the steps is late persistently. Our choice: most of the time. */
export const MOST_STEPS = 0.5;
/** A rank is not named where chance explains its being last with more than this probability: the usual 1 %. */
export const MAX_CHANCE = 0.01;
