/** Who writes files under names like this. */
export type Layout = 'whyslow' | 'torchtitan' | 'd9d' | 'tensorboard' | 'hta' | 'slime' | 'events' | 'plain';

/** What a path says about a file. Hints only: what stands in the file goes first. */
export interface NameHints {
  readonly layout: Layout;
  readonly rank: number | null;
  readonly step: number | null;
  /** Place in the device mesh, outermost axis first. */
  readonly coordinates: readonly number[] | null;
  readonly host: string | null;
}

const EXTENSION = String.raw`\.(?:json|tar|zip)(?:\.(?:gz|zst))?$`;

/** Names of whole files, the particular before the general. */
const LAYOUTS: readonly (readonly [Layout, RegExp])[] = [
  ['d9d', new RegExp(`^rank-\\d+-coord-\\d+(?:-\\d+)*-trace${EXTENSION}`, 'i')],
  ['torchtitan', new RegExp(`^rank\\d+_trace${EXTENSION}`, 'i')],
  ['tensorboard', /\.pt\.trace\.json(?:\.gz)?$/i],
  ['events', /^cuda_events_rank_\d+\.jsonl(?:\.gz)?$/i],
  // slime: the target, then the rank and more: rank-0-train_actor….json.gz; HTA: anything with a rank at its end.
  ['slime', new RegExp(`^rank-\\d+.*${EXTENSION}`, 'i')],
  ['hta', new RegExp(`(?:^|[^a-z0-9])rank[-_]?\\d+${EXTENSION}`, 'i')],
];
