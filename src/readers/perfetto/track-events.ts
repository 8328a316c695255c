import type { EventRow } from '../common/trace-rows/event-row.js';
import { NO_ID, SIDE_TABLES } from '../common/trace-rows/schema.js';
import type { AnnotationReader } from './annotations.js';
import { FLAG } from './argument-keys.js';
import type { TimeStamp } from './clock.js';
import type { EventArguments } from './event-arguments.js';
import type { PerfettoFaults } from './faults.js';
import { EVENT_TYPE, TRACK_EVENT } from './fields.js';
import type { Interned } from './interned.js';
import type { SlicePairs } from './slice-pairs.js';
import type { Tokens } from './tokens.js';
import type { Track, TrackTable } from './tracks.js';
import { MessageReader } from './wire.js';

const PHASE_X = 'X'.charCodeAt(0);
const [PHASE_S, PHASE_F] = [...Buffer.from('sf')] as [number, number];
const FLOWS = SIDE_TABLES.findIndex((t) => t.name === 'flows');

/** What reading an event needs. */
export interface EventTools {
  readonly row: EventRow;
  readonly tokens: Tokens;
  readonly args: EventArguments;
  readonly annotations: AnnotationReader;
  readonly tracks: TrackTable;
  readonly pairs: SlicePairs;
  readonly time: TimeStamp;
  readonly faults: PerfettoFaults;
}

/** TrackEvents: the begin of an event on the host becomes a row, and its end gives that row a duration. */
export class TrackEventReader {
  readonly #event = new MessageReader();
  readonly #tools: EventTools;
  /** Ids of flows that were seen: the second event of a flow ends it. */
  readonly #flows = new Set<number>();
  /** Events that only PyTorch writes. */
  torchEvents = 0;

  constructor(tools: EventTools) {
    this.#tools = tools;
  }

  /** False: it is broken. */
  read(buffer: Uint8Array, from: number, to: number, interned: Interned, at: number): boolean {
    const { row, tokens, args, annotations, pairs, time } = this.#tools;
    const event = this.#event.open(buffer, from, to);
    let type = 0;
    let name = 0;
    let category = 0;
    let flow = Number.NaN;
    let endsFlow = false;
    let uuid = interned.defaultTrack;
    let isWhole = true;
    row.begin();
    args.begin();
    while (event.next()) {
      switch (event.key) {
        case TRACK_EVENT.type:
          type = event.low;
          break;
        case TRACK_EVENT.trackUuid:
          uuid = event.unsigned;
          break;
        case TRACK_EVENT.nameId:
          name = interned.names.get(event.unsigned) ?? 0;
          break;
        case TRACK_EVENT.name:
          name = tokens.ofBytes(buffer, event.from, event.to);
          break;
        case TRACK_EVENT.categoryId:
          category = interned.categories.get(event.unsigned) ?? 0;
          break;
        case TRACK_EVENT.category:
          category = tokens.ofBytes(buffer, event.from, event.to);
          break;
        case TRACK_EVENT.annotation:
          isWhole = annotations.read(event, interned) && isWhole;
          break;
        case TRACK_EVENT.flow:
        case TRACK_EVENT.oldFlow:
        case TRACK_EVENT.flowEnd:
        case TRACK_EVENT.oldFlowEnd:
          flow = event.unsigned;
          endsFlow = event.key === TRACK_EVENT.flowEnd || event.key === TRACK_EVENT.oldFlowEnd;
          break;
      }
    }
    if (event.isBroken || !isWhole || Number.isNaN(uuid)) return false;
    if (type === EVENT_TYPE.end) pairs.end(uuid, time.fromBase);
    else if (type === EVENT_TYPE.begin) this.#begin(uuid, name, category, flow, endsFlow, at);
    return true;
  }

  #begin(uuid: number, name: number, category: number, flow: number, endsFlow: boolean, at: number): void {
    const { row, args, tracks, pairs, time } = this.#tools;
    const track = tracks.of(uuid, at);
    if (name === 0) this.#tools.faults.add('missing-names', at);
    row.phase = PHASE_X;
    row.pid = track.pid;
    row.tid = track.tid;
    row.us = time.us;
    row.ns = time.ns;
    row.durUs = row.durNs = 0;
    row.name = name;
    row.category = category || this.#categoryOf(track, at);
    if ((args.flags & FLAG.torch) !== 0) this.torchEvents++;
    if (!Number.isNaN(flow)) this.#flow(flow, endsFlow);
    pairs.begin(row.columns.rowBase + row.columns.rows, uuid, time.fromBase);
    row.finish();
  }

  /** Synchronization and the profiler's own work have no category in the file. */
  #categoryOf({ isOverhead }: Track, at: number): number {
    const { args, tokens, faults } = this.#tools;
    if ((args.flags & FLAG.sync) !== 0) return tokens.ofText('cuda_sync');
    if (isOverhead) return tokens.ofText('overhead');
    faults.add('missing-categories', at);
    return 0;
  }

  /** Flows from a call to its kernel have the id of both and say nothing new. */
  #flow(flow: number, endsFlow: boolean): void {
    const { row, tokens } = this.#tools;
    if (flow === row.correlation || flow >= NO_ID) return;
    const isEnd = endsFlow || this.#flows.has(flow);
    this.#flows.add(flow);
    row.side.set(FLOWS, 0, flow);
    const kind = row.kinds.countEvent(isEnd ? PHASE_F : PHASE_S, tokens.ofText('fwdbwd'));
    row.kinds.countFolded(kind);
    row.side.set(FLOWS, 1, kind);
  }
}
