/**
 * When a process counts as busy, waiting or held up. Sources: T1–T3, T8 are entries of the knowledge base (`whyslow rules`).
 * Shares of a core or of time unless a unit is named.
 */

/** A thread that runs, or waits for a CPU, this much of the time is pegged (T3: "~100%"; sampling loses a little). */
export const PEGGED = 0.8;
/** Below it a thread mostly waits. */
export const MOSTLY_WAITS = 0.5;
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
/** Share of time in which some task waited for memory. Kernel documentation, PSI: any sustained value is a stall. */
export const MEMORY_STALL = 0.1;
/** Bytes a second read back from swap. */
export const SWAPS = 1e6;
