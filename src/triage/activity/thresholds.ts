/**
 * Limits of the judges. Sources: T1–T3, T8 are entries of the knowledge base (`whyslow rules`); the zoo is our set of loops
 * on an H200. Shares of a core or of time unless a unit is named.
 */

/** Percent. Below it something else is the limit; between it and GPU_BUSY both count (labels.py: 85 / 1.3). */
export const GPU_WAITS = 65;
/**
 * CPU time of the backward thread (pt_autograd_*) as a share of that and the main thread's. Backward launches as many kernels
 * as forward and more, so a launch-bound loop keeps it busy. Loading on the main thread does not.
 */
export const BACKWARD_WORKS = 0.1;
/** Samples of utilization below this share of the largest one: the GPU pauses for longer than a sample. */
export const SAWTOOTH = 0.5;
/** Share of the quota's periods in which it ran out. */
export const QUOTA_USED_UP = 0.1;
/** Cores that compilers use before they explain an idle GPU. */
export const COMPILES = 0.5;
/** Cores of a whole job below which it does nothing. */
export const IDLE = 0.1;
