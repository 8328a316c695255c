/** What limits the speed of training. `unknown`: the evidence does not decide. */
export const BOTTLENECKS = ['gpu', 'data', 'comms', 'host', 'compute', 'unknown'] as const;
export type Bottleneck = (typeof BOTTLENECKS)[number];
