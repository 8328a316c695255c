/** One recorded step of one rank, as far as watching needs it. Times in ms. */
export interface StepSummary {
  readonly step: number;
  /** On the run's clock. NaN: unknown. */
  readonly start: number;
  /** The whole iteration; the sum of its phases if it was not timed. */
  readonly whole: number;
  /** By name; micro-steps summed. Forward and backward pass without the collectives in them. */
  readonly phases: ReadonlyMap<string, number>;
  /** Spent outside steps since the capture began, by phase: saving, evaluating, collecting garbage. */
  readonly outside: ReadonlyMap<string, number>;
  /** A profiler made it slower. */
  readonly disturbed: boolean;
}
