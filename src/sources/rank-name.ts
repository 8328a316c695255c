/** Who writes files under names like this. */
export type Layout =
  | 'whyslow'
  | 'torchtitan'
  | 'd9d'
  | 'tensorboard'
  | 'hta'
  | 'slime'
  | 'events'
  | 'telemetry'
  | 'plain';

/** What a path says about a file. Hints only: what stands in the file goes first. */
export interface NameHints {
  readonly layout: Layout;
  readonly rank: number | null;
  readonly step: number | null;
  /** Place in the device mesh, outermost axis first. */
  readonly coordinates: readonly number[] | null;
  readonly host: string | null;
}

/** A file name and the directories it lies in, nearest first. */
interface Place {
  readonly name: string;
  readonly directories: readonly string[];
}

/** Layouts by file name, the particular before the general. `{ext}` is a trace, packed or not. */
const LAYOUTS: readonly (readonly [Layout, RegExp])[] = [
  ['d9d', pattern('^rank-\\d+-coord-\\d+(-\\d+)*-trace{ext}')],
  ['torchtitan', pattern('^rank\\d+_trace{ext}')],
  ['events', /^cuda_events_rank_\d+\.jsonl(\.gz)?$/i],
  ['slime', /^train_\w+_rank_\d+\.\d+\.pt\.trace\.json(\.gz)?$/i],
  ['hta', pattern('^rank-\\d+\\b.*{ext}')],
  ['tensorboard', /\.pt\.trace\.json(\.gz)?$/i],
  ['telemetry', /^(?:nvidia[-_]smi|dmon)(?![a-z0-9]).*\.(?:txt|csv|log)(?:\.(?:gz|zst))?$/i],
];

/** HTA asks only for a rank somewhere in the name. */
const TRACE = pattern('{ext}');

/** torch.profiler.tensorboard_trace_handler: `<host>_<pid>.<time>.pt.trace.json`, or a worker's name for the first. */
const TENSORBOARD = /^(?<worker>.+?)(?:_\d+)?\.\d+\.pt\.trace\.json/i;

const RANK = /(?<![a-z0-9])rank[-_=]?(\d{1,6})(?![a-z0-9])/gi;
const STEP = /(?<![a-z0-9])(?:step|iteration|iter)[-_=]?(\d{1,12})(?![a-z0-9])/i;
const COORDINATES = /(?<![a-z0-9])coord-(\d+(?:-\d+)*)/i;

/** A directory must be just that: `lora-rank16-runs` says nothing about the rank of a process. */
const RANK_DIRECTORY = /^(?:(?:global|world)[-_])?rank[-_=]?(\d{1,6})$/i;
const STEP_DIRECTORY = /^(?:global[-_])?(?:step|iteration|iter)[-_=]?(\d{1,12})$/i;

/** Words before `rank` that make it another thing than the rank of a process among all. */
const OTHER_RANKS = new Set([
  'local',
  'node',
  'group',
  'parallel',
  'tp',
  'pp',
  'dp',
  'cp',
  'ep',
  'sp',
  'mp',
  'lora',
  'low',
]);

/** Names inside archives go first: in `a/rank1.tar.gz!rank2.json` the rank is 2. */
export function rankFromPath(path: string): NameHints {
  const places = placesOf(path);
  const layout = firstOf(places, layoutOf) ?? 'plain';
  return {
    layout,
    rank: firstOf(places, (place) => rankInName(place.name) ?? numberIn(place.directories, RANK_DIRECTORY)),
    step: firstOf(
      places,
      (place) => numberIn([place.name], STEP) ?? numberIn(place.directories, STEP_DIRECTORY),
    ),
    coordinates: firstOf(places, (place) => COORDINATES.exec(place.name)?.[1].split('-').map(Number) ?? null),
    host:
      layout === 'tensorboard'
        ? firstOf(places, hostOf)
        : layout === 'telemetry'
          ? firstOf(places, telemetryHost)
          : null,
  };
}

function placesOf(path: string): readonly Place[] {
  const parts = path.split('!').reverse();
  return parts.map((part) => {
    const [name = '', ...directories] = part.split(/[/\\]+/).reverse();
    return { name, directories };
  });
}

function layoutOf({ name, directories: [parent = '', above = ''] }: Place): Layout | null {
  if (parent === 'ranks' && /^rank_\d+\.json$/.test(name)) return 'whyslow';
  const layout = LAYOUTS.find(([, names]) => names.test(name))?.[0] ?? null;
  if (layout === null) return TRACE.test(name) && rankInName(name) !== null ? 'hta' : null;
  // One grammar, two writers: ours keeps its steps in a folder `traces`.
  return layout === 'd9d' && above === 'traces' && STEP_DIRECTORY.test(parent) ? 'whyslow' : layout;
}

function rankInName(name: string): number | null {
  for (const match of name.matchAll(RANK)) {
    const wordBefore = /([a-z]+)[-_. ]*$/i.exec(name.slice(0, match.index))?.[1];
    if (!OTHER_RANKS.has(wordBefore?.toLowerCase() ?? '')) return Number(match[1]);
  }
  return null;
}

function hostOf({ name }: Place): string | null {
  const worker = TENSORBOARD.exec(name)?.groups?.worker ?? null;
  return worker === null || rankInName(name) !== null ? null : worker;
}

/** `dmon-<host>.txt`, `nvidia-smi-query_<host>.csv`; one of a single machine names none. */
function telemetryHost({ name }: Place): string | null {
  const bare = name.replace(/\.(?:txt|csv|log)(?:\.(?:gz|zst))?$/i, '');
  return bare.replace(/^(?:(?:nvidia[-_]smi|dmon|query)(?:[-_.]|$))+/i, '') || null;
}

function numberIn(names: readonly string[], expression: RegExp): number | null {
  const found = firstOf(names, (name) => expression.exec(name));
  return found === null ? null : Number(found[1]);
}

function firstOf<T, R>(items: readonly T[], look: (item: T) => R | null): R | null {
  for (const item of items) {
    const found = look(item);
    if (found !== null) return found;
  }
  return null;
}

function pattern(source: string): RegExp {
  return new RegExp(source.replace('{ext}', String.raw`\.(json|tar|tgz|zip)(\.(gz|zst))?$`), 'i');
}
