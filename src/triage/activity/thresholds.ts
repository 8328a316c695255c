/**
 * Limits of the judges. Sources: T1–T3, T8 are entries of the knowledge base (`whyslow rules`); the zoo is our set of loops
 * on an H200. Shares of a core or of time unless a unit is named.
 */

/** Percent. A GPU this busy is the limit: zoo/programs/labels.py calls a loop GPU-bound from 85 % on; T1 says 90 %. */
export const GPU_BUSY = 85;
/** Percent. Below it something else is the limit; in between both count (labels.py: 85 / 1.3). */
export const GPU_WAITS = 65;
/** A thread that runs, or waits for a CPU, this much of the time is pegged (T3: "~100 %"; sampling loses a little). */
export const PEGGED = 0.8;
/** Below it a thread mostly waits. */
export const MOSTLY_WAITS = 0.5;
/**
 * CPU time of the backward thread (pt_autograd_*) as a share of that and the main thread's. Backward launches as many kernels
 * as forward and more, so a launch-bound loop keeps it busy. Loading on the main thread does not.
 */
export const BACKWARD_WORKS = 0.1;
/** Samples of utilisation below this share of the largest one: the GPU pauses for longer than a sample. */
export const SAWTOOTH = 0.5;
/** Bytes a second that a job which waits for input reads at least. */
export const READS = 1e6;
/** Share of time in state D, or in a wait for disk or network, that counts as input/output. */
export const WAITS_FOR_IO = 0.2;
/** Active threads for each CPU, from which threads hinder each other (T3: "many threads thrash a few cores"). */
export const THREADS_PER_CPU = 2;
/** A thread that runs or wants to this much of the time is active. */
export const ACTIVE = 0.1;
/** Time that active threads wait for a CPU, as a share of the time they want one. */
export const DELAYED = 0.3;
/** Share of the quota's periods in which it ran out. */
export const QUOTA_USED_UP = 0.1;
/** Share of time in which some task waited for memory. Kernel documentation, PSI: any sustained value is a stall. */
export const MEMORY_STALL = 0.1;
/** Bytes a second read back from swap. */
export const SWAPS = 1e6;
/** Cores that compilers use before they explain an idle GPU. */
export const COMPILES = 0.5;
/** Cores of a whole job below which it does nothing. */
export const IDLE = 0.1;
