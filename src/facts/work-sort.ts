/** How time accounting counts a piece of GPU work. `move`: fills, and copies inside the device. Numbers fit in a column. */
export const WorkSort = { compute: 0, comms: 1, toDevice: 2, toHost: 3, move: 4 } as const;
