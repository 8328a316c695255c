import { Category, isGpuWork } from '../../model/category.js';
import { StringTable } from '../../model/string-table.js';
import { NO_ID, type TraceData } from '../../model/trace-data.js';
import type { RankPart } from './content.js';
import { selectRows } from './select-rows.js';

/**
 * Tools merge the traces of all ranks into one file and put the rank into what identifies a process. whyslow and TraceFusion name
 * the process (`rank 3 · host · CPU`, `RANK 3 - GPU`), SGLang changes its id (`[TP03-DP00] 4711`).
 */
const NAMED_RANK = /^rank (\d{1,6})\b/i;
const LABELED_PID = /^"?(\[(?:(?:TP|DP|PP|EP)\d+-?)+\]) /;

const isOperator = (category: Category) => category === Category.cpuOp;
/** Recorders of other accelerators put calls into the processes of devices. */
const isCall = (category: Category) => category === Category.runtime || category === Category.driver;

/**
 * The ranks of a merged trace, in order. Undefined: the trace is of one process. Null: it is of several, and nothing shows which
 * GPU work belongs to which.
 */
export function splitRanks(trace: TraceData): (() => Iterable<RankPart>) | null | undefined {
  const operating = pidsOf(trace, isOperator);
  const hosts = operating.size > 0 ? operating : pidsOf(trace, isCall);
  if (hosts.size < 2) return undefined;
  const groups = labeled(trace) ?? named(trace, hosts) ?? launchedBy(trace, hosts);
  if (!groups) return operating.size > 1 ? null : undefined;
  return new Set(groups.values()).size < 2 ? undefined : () => partsOf(trace, groups);
}

/** The rank of each process. */
type Groups = ReadonlyMap<string, number>;

function* partsOf(trace: TraceData, groups: Groups): Generator<RankPart> {
  const { tracks, track, header } = trace;
  const rankOf = tracks.map(({ pid }) => groups.get(pid) ?? -1);
  const instead = {
    tracks: tracks.map(({ pid, tid }) => ({ pid: pid.replace(LABELED_PID, ''), tid })),
    // That of one of the ranks.
    header: { ...header, distributed: header.distributed && { ...header.distributed, rank: null } },
  };
  for (const rank of [...new Set(groups.values())].sort((a, b) => a - b))
    yield { label: `rank${rank}`, trace: selectRows(trace, (row) => rankOf[track[row]!] === rank, instead) };
}

function pidsOf({ tracks, track, kind, kinds, rows }: TraceData, isOf: (c: Category) => boolean) {
  const ofKind = kinds.map((k) => k.phase === 'X' && isOf(k.category));
  const seen = new Uint8Array(tracks.length);
  for (let row = 0; row < rows; row++) if (ofKind[kind[row]!]) seen[track[row]!] = 1;
  return new Set(tracks.filter((_, i) => seen[i] === 1).map(({ pid }) => pid));
}

function labeled({ tracks }: TraceData): Groups | null {
  const labels = tracks.flatMap(({ pid }) => LABELED_PID.exec(pid)?.[1] ?? []);
  if (labels.length === 0) return null;
  const inOrder = [...new Set(labels)];
  const entries = tracks.flatMap(({ pid }) => {
    const label = LABELED_PID.exec(pid)?.[1];
    return label === undefined ? [] : [[pid, inOrder.indexOf(label)] as const];
  });
  return new Map(entries);
}

function named({ metadata, name, track, tracks, strings }: TraceData, hosts: ReadonlySet<string>) {
  const table = new StringTable(strings);
  const groups = new Map<string, number>();
  for (let i = 0; i < metadata.row.length; i++) {
    const row = metadata.row[i]!;
    if (table.text(name[row]!) !== 'process_name') continue;
    const rank = NAMED_RANK.exec(table.text(metadata.name[i]!))?.[1];
    if (rank !== undefined) groups.set(tracks[track[row]!]!.pid, Number(rank));
  }
  return [...hosts].every((pid) => groups.has(pid)) ? groups : null;
}

/** Without names: a device belongs to the process that launched its work, if that is only one. */
function launchedBy(trace: TraceData, hosts: ReadonlySet<string>): Groups | null {
  const { kind, kinds, correlation, track, tracks, rows } = trace;
  const callers = new Map<number, string>();
  const calls = kinds.map((k) => isCall(k.category));
  for (let row = 0; row < rows; row++) {
    const id = correlation[row]!;
    if (!calls[kind[row]!] || id === NO_ID) continue;
    const { pid } = tracks[track[row]!]!;
    // Ids that two processes share tell nothing.
    if ((callers.get(id) ?? pid) !== pid) return null;
    callers.set(id, pid);
  }
  const groups = new Map([...hosts].map((pid, i) => [pid, i]));
  const isWork = kinds.map((k) => k.phase === 'X' && isGpuWork(k.category));
  for (let row = 0; row < rows; row++) {
    if (!isWork[kind[row]!]) continue;
    const host = callers.get(correlation[row]!);
    if (host === undefined) continue;
    const { pid } = tracks[track[row]!]!;
    if ((groups.get(pid) ?? groups.get(host)) !== groups.get(host)) return null;
    groups.set(pid, groups.get(host)!);
  }
  return groups;
}
