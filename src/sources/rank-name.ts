// biome-ignore format: a list
export const LAYOUTS = [
  'whyslow', 'torchtitan', 'd9d', 'tensorboard', 'hta', 'slime', 'events', 'telemetry', 'plain',
] as const;
/** Which tool names its files like this. */
export type Layout = (typeof LAYOUTS)[number];

/** What a path says about a file. Only hints: the content of the file has precedence. */
export interface NameHints {
  readonly layout: Layout;
  readonly rank: number | null;
  readonly step: number | null;
  /** Position in the device mesh, outermost axis first. */
  readonly coordinates: readonly number[] | null;
  readonly host: string | null;
}

/** One file name in a path, and the directories around it, nearest first. */
interface PathPart {
  readonly name: string;
  readonly directories: readonly string[];
}

/** Layouts by file name, specific ones first. `{ext}` is a trace, packed or not. */
const PATTERNS: readonly (readonly [Layout, RegExp])[] = [
  ['d9d', pattern('^rank-\\d+-coord-\\d+(-\\d+)*-trace{ext}')],
  ['torchtitan', pattern('^rank\\d+_trace{ext}')],
  ['events', /^cuda_events_rank_\d+\.jsonl(\.gz)?$/i],
  ['slime', /^train_\w+_rank_\d+\.\d+\.pt\.trace\.json(\.gz)?$/i],
  ['hta', pattern('^rank-\\d+\\b.*{ext}')],
  ['tensorboard', /\.pt\.trace\.json(\.gz)?$/i],
  ['telemetry', /^(?:nvidia[-_]smi|dmon)(?![a-z0-9]).*\.(?:txt|csv|log)(?:\.(?:gz|zst))?$/i],
];

/** Traces with a rank anywhere in the name are HTA's layout. */
const TRACE = pattern('{ext}');

/** torch.profiler.tensorboard_trace_handler: `<host>_<pid>.<time>.pt.trace.json`, or `<worker name>.<time>…`. */
const TENSORBOARD = /^(?<worker>.+?)(?:_\d+)?\.\d+\.pt\.trace\.json/i;

const RANK = /(?<![a-z0-9])rank[-_=]?(\d{1,6})(?![a-z0-9])/gi;
const STEP = /(?<![a-z0-9])(?:step|iteration|iter)[-_=]?(\d{1,12})(?![a-z0-9])/i;
const COORDINATES = /(?<![a-z0-9])coord-(\d+(?:-\d+)*)/i;

/** A directory name must match as a whole: `lora-rank16-runs` says nothing about the rank of a process. */
const RANK_DIRECTORY = /^(?:(?:global|world)[-_])?rank[-_=]?(\d{1,6})$/i;
const STEP_DIRECTORY = /^(?:global[-_])?(?:step|iteration|iter)[-_=]?(\d{1,12})$/i;

/** Words before `rank` that make it something other than the global rank of a process. */
const OTHER_RANKS = new Set('local node group parallel tp pp dp cp ep sp mp lora low'.split(' '));

/** Names inside archives have precedence: in `a/rank1.tar.gz!rank2.json` the rank is 2. */
export function rankFromPath(path: string): NameHints {
  const parts = partsOf(path);
  const layout = firstOf(parts, layoutOf) ?? 'plain';
  const hostIn = layout === 'tensorboard' ? hostOf : layout === 'telemetry' ? telemetryHost : () => null;
  return {
    layout,
    rank: firstOf(parts, (part) => rankInName(part.name) ?? numberIn(part.directories, RANK_DIRECTORY)),
    step: firstOf(parts, (part) => numberIn([part.name], STEP) ?? numberIn(part.directories, STEP_DIRECTORY)),
    coordinates: firstOf(parts, (part) => COORDINATES.exec(part.name)?.[1]?.split('-').map(Number) ?? null),
    host: firstOf(parts, hostIn),
  };
}

/** `a/b.tar!c/d` has two parts; the innermost comes first. */
function partsOf(path: string): readonly PathPart[] {
  return path
    .split('!')
    .reverse()
    .map((part) => {
      const [name = '', ...directories] = part.split(/[/\\]+/).reverse();
      return { name, directories };
    });
}

function layoutOf({ name, directories: [parent = '', above = ''] }: PathPart): Layout | null {
  if (parent === 'ranks' && /^rank_\d+\.json$/.test(name)) return 'whyslow';
  const layout = PATTERNS.find(([, names]) => names.test(name))?.[0] ?? null;
  if (layout === null) return TRACE.test(name) && rankInName(name) !== null ? 'hta' : null;
  // d9d and whyslow use the same names; whyslow keeps its steps in a folder `traces`.
  return layout === 'd9d' && above === 'traces' && STEP_DIRECTORY.test(parent) ? 'whyslow' : layout;
}

function rankInName(name: string): number | null {
  for (const match of name.matchAll(RANK)) {
    const wordBefore = /([a-z]+)[-_. ]*$/i.exec(name.slice(0, match.index))?.[1];
    if (!OTHER_RANKS.has(wordBefore?.toLowerCase() ?? '')) return Number(match[1]);
  }
  return null;
}

function hostOf({ name }: PathPart): string | null {
  const worker = TENSORBOARD.exec(name)?.groups?.worker ?? null;
  return worker === null || rankInName(name) !== null ? null : worker;
}

/** `dmon-<host>.txt`, `nvidia-smi-query_<host>.csv`; without a host for a single machine. */
function telemetryHost({ name }: PathPart): string | null {
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
  return new RegExp(source.replace('{ext}', String.raw`\.(json|pftrace|tar|tgz|zip)(\.(gz|zst))?$`), 'i');
}
