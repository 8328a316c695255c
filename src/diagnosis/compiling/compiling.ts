import { groupBy } from '../../base/group-by.js';
import { lengthOf, type Spans, unionOfSpans } from '../../base/intervals.js';
import { type Ns, ns } from '../../base/units.js';
import type { CacheLookups, Compilation, CompileTimes } from '../../model/compile-log.js';
import { type Divergence, divergence, placeOf } from './divergence.js';

/** What one process compiled, and how long it took. */
export interface RankCompiling {
  /** Null: a job of one process. */
  readonly rank: number | null;
  /** When it compiled, without overlaps. */
  readonly spans: Spans;
  readonly total: Ns;
  /** From the start of the first compilation to the end of the last. */
  readonly first: Ns;
  readonly last: Ns;
  /** When its process started. Null: no manifest has it. */
  readonly started: Ns | null;
  /** Costliest first. */
  readonly functions: readonly FunctionCost[];
  readonly cache: CacheLookups;
}

export interface FunctionCost {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly total: Ns;
  /** How often it was compiled. */
  readonly versions: number;
  /** The kinds of errors that ended some of them. */
  readonly failures: readonly string[];
}

/** What torch.compile did in a run. */
export interface Compiling {
  /** Those that compiled longest first. */
  readonly ranks: readonly RankCompiling[];
  /** A rank that compiled while most others did not. Null: none, or too short to matter. */
  readonly alone: { readonly rank: number; readonly total: Ns } | null;
  /** Compiled code whose collectives differ between ranks. */
  readonly diverging: readonly Divergence[];
  /** Logs of earlier runs in the same folder. */
  readonly earlier: number;
}

/** The log of one process, and when the process started. */
export interface RankLog {
  readonly times: CompileTimes;
  readonly started: Ns | null;
}

/** Null: no log has times. */
export function compilingOf(logs: readonly RankLog[]): Compiling | null {
  const compiled = logs.filter(({ times }) => times.compilations.length > 0);
  const newest = newestRun(compiled);
  if (newest.length === 0) return null;
  const ranks = newest.map(ofRank).sort((a, b) => b.total - a.total);
  return {
    ranks,
    alone: aloneIn(ranks),
    diverging: divergence(newest.map(({ times }) => times)),
    earlier: compiled.length - newest.length,
  };
}

/** TORCH_TRACE adds to its folder, so that it may have the logs of many runs. Of every rank, only the newest counts. */
function newestRun(logs: readonly RankLog[]): readonly RankLog[] {
  const byRank = groupBy(logs, ({ times }) => times.rank);
  return [...byRank.values()].map((same) => same.reduce((a, b) => (b.times.first > a.times.first ? b : a)));
}

function ofRank({ times: { rank, first, last, compilations }, started }: RankLog): RankCompiling {
  const spans = unionOfSpans(compilations.flatMap((one) => one.spans));
  return {
    rank,
    spans,
    total: ns(lengthOf(spans)),
    first: ns(spans.start[0] ?? first),
    last: ns(spans.end[spans.length - 1] ?? last),
    started: started !== null && started <= first ? started : null,
    functions: functionCosts(compilations),
    cache: {
      hits: sumOf(compilations, (one) => one.cache.hits),
      misses: sumOf(compilations, (one) => one.cache.misses),
      bypasses: sumOf(compilations, (one) => one.cache.bypasses),
      bypassReason: compilations.find((one) => one.cache.bypassReason !== null)?.cache.bypassReason ?? null,
    },
  };
}

function functionCosts(compilations: readonly Compilation[]): readonly FunctionCost[] {
  const costs = [...groupBy(compilations, placeOf).values()].map((versions) => ({
    name: versions[0]!.name,
    file: versions[0]!.file,
    line: versions[0]!.line,
    // Versions of one function may be compiled inside each other, and by several threads.
    total: ns(lengthOf(unionOfSpans(versions.flatMap(({ spans }) => spans)))),
    versions: versions.length,
    failures: [...new Set(versions.flatMap(({ failure }) => failure ?? []))],
  }));
  return costs.sort((a, b) => b.total - a.total);
}

const sumOf = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((sum, one) => sum + of(one), 0);

/** Ranks never compile for exactly as long as each other. Our choice: from a second on it may matter. */
const LEAST_ALONE_NS = 1e9;
/** Share of what the rank compiles. Below, it is the usual difference between machines. */
const LEAST_ALONE = 0.2;

/**
 * Time in which at most half of the ranks compile, by rank. Only for ranks that ran at the same time: logs of several runs, or of
 * machines whose clocks differ by minutes, show nothing.
 */
function aloneIn(all: readonly RankCompiling[]): Compiling['alone'] {
  const ranks = all.filter(({ rank, spans }) => rank !== null && spans.length > 0);
  const together = ranks.every((a) => ranks.every((b) => a.first <= b.last && b.first <= a.last));
  if (ranks.length < 2 || !together) return null;
  const alone = aloneTimes(ranks.map(({ spans }) => spans));
  const most = alone.indexOf(alone.reduce((a, b) => Math.max(a, b), 0));
  const total = alone[most] ?? 0;
  if (total < LEAST_ALONE_NS || total < LEAST_ALONE * ranks[most]!.total) return null;
  return { rank: ranks[most]!.rank!, total: ns(total) };
}

/** How long each compiles while at most half of them do. */
export function aloneTimes(of: readonly Spans[]): number[] {
  const edges = of.flatMap((spans, who) =>
    Array.from({ length: spans.length }, (_, i) => [
      { at: spans.start[i]!, who, begins: true },
      { at: spans.end[i]!, who, begins: false },
    ]).flat(),
  );
  edges.sort((a, b) => a.at - b.at);
  const alone = of.map(() => 0);
  const compiling = new Set<number>();
  let since = 0;
  for (const { at, who, begins } of edges) {
    if (2 * compiling.size <= of.length) for (const one of compiling) alone[one] = alone[one]! + at - since;
    since = at;
    if (begins) compiling.add(who);
    else compiling.delete(who);
  }
  return alone;
}
