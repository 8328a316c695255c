import type { Settings } from './options.js';

export type Axis = 'world' | 'dp' | 'tp' | 'pp';

/** A process group and the network it has. */
export interface Group {
  readonly index: number;
  readonly name: string;
  readonly description: string;
  readonly axis: Axis;
  readonly ranks: readonly number[];
  /** Bus bandwidth, bytes a µs. */
  readonly bandwidth: number;
  readonly latencyUs: number;
}

export interface Layout {
  readonly groups: readonly Group[];
  /** The group of a rank along an axis; null where it has no other member. */
  groupOf(rank: number, axis: Axis): Group | null;
}

/** Bus bandwidths that NCCL reaches on H100/H200 machines: NVLink inside a host, one 400 Gb/s card a GPU between. */
const NVLINK = { bandwidth: 300e3, latencyUs: 12 };
const NETWORK = { bandwidth: 45e3, latencyUs: 30 };

export function hostOf(settings: Settings, rank: number): number {
  return Math.floor(rank / settings.ranksPerHost);
}

/** Tensor-parallel ranks are neighbors; pipeline stages are farthest apart, as in Megatron. */
export function layOut(settings: Settings): Layout {
  const { ranks, parallelism, tensorParallel, stages } = settings;
  const groups: Group[] = [];
  const places = new Map<string, Group>();
  const add = (axis: Axis, members: readonly number[]) => {
    if (members.length < 2) return;
    const oneHost = members.every((r) => hostOf(settings, r) === hostOf(settings, members[0]!));
    const index = groups.length;
    const description = axis === 'world' ? 'default_pg' : `mesh_${axis}`;
    const group = { index, name: String(index), description, axis, ranks: members };
    groups.push({ ...group, ...(oneHost ? NVLINK : NETWORK) });
    for (const r of members) places.set(`${axis} ${r}`, groups[index]!);
  };
  const each = (n: number) => Array.from({ length: n }, (_, i) => i);
  add('world', each(ranks));
  if (parallelism === 'mesh3d') {
    const copies = ranks / stages / tensorParallel;
    const rank = (s: number, d: number, t: number) => (s * copies + d) * tensorParallel + t;
    for (const s of each(stages)) {
      for (const d of each(copies)) add('tp', range(rank(s, d, 0), tensorParallel, 1));
      for (const t of each(tensorParallel)) add('dp', range(rank(s, 0, t), copies, tensorParallel));
    }
    for (const first of each(copies * tensorParallel))
      add('pp', range(first, stages, copies * tensorParallel));
  } else if (parallelism === 'mesh2d') {
    const rows = ranks / tensorParallel;
    for (const d of each(rows)) add('tp', range(d * tensorParallel, tensorParallel, 1));
    for (const t of each(tensorParallel)) add('dp', range(t, rows, tensorParallel));
  } else if (parallelism === 'pipeline') {
    const copies = ranks / stages;
    for (const s of each(stages)) add('dp', range(s * copies, copies, 1));
    for (const c of each(copies)) add('pp', range(c, stages, copies));
  }
  return { groups, groupOf: (rank, axis) => places.get(`${axis} ${rank}`) ?? null };
}

/** Axes of the device mesh, outermost first, and each rank's place on them: the last counts fastest. */
export function meshOf({ ranks, parallelism, tensorParallel, stages }: Settings) {
  const axis = (name: Axis, size: number) => ({ name, size });
  const axes =
    parallelism === 'mesh3d'
      ? [axis('pp', stages), axis('dp', ranks / stages / tensorParallel), axis('tp', tensorParallel)]
      : parallelism === 'mesh2d'
        ? [axis('dp', ranks / tensorParallel), axis('tp', tensorParallel)]
        : parallelism === 'pipeline'
          ? [axis('pp', stages), axis('dp', ranks / stages)]
          : [axis('dp', ranks)];
  const coordinates = (rank: number): Record<string, number> => {
    let rest = rank;
    const places = axes.toReversed().map(({ name, size }) => {
      const place = rest % size;
      rest = Math.floor(rest / size);
      return [name, place] as const;
    });
    return Object.fromEntries(places.reverse());
  };
  return { axes, coordinates };
}

function range(start: number, count: number, stride: number): number[] {
  return Array.from({ length: count }, (_, i) => start + i * stride);
}
