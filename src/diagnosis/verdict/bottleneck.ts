/** What holds training back. `unknown`: the evidence does not decide. */
export const BOTTLENECKS = ['gpu', 'data', 'comms', 'host', 'compute', 'unknown'] as const;
export type Bottleneck = (typeof BOTTLENECKS)[number];
