/** Step times of one run in ms, in the order they ran. Steps may be missing between them. */
export type RunSteps = readonly number[];
