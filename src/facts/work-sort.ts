/** How time accounting counts a piece of GPU work. Numbers, so that a lookup per row creates no objects. */
export const WorkSort = { compute: 0, comms: 1, toDevice: 2, toHost: 3, move: 4 } as const;
