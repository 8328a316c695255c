import type { RecompileLimit } from '../../model/compile-log.js';
import {
  type BreakTotal,
  breakPlace,
  breakReason,
  type CompileTotals,
  type FunctionTotal,
} from '../common/compile/totals.js';

/** What the last lines of one rank were about. */
interface Context {
  function: FunctionTotal | null;
  limit: RecompileLimit | null;
  graphBreak: BreakTotal | null;
}

const RECOMPILING = /^Recompiling function (.{1,200}) in (.{1,400}):(\d{1,9})$/;
/** One space after the dash: stack traces have more. */
const GUARD = /^\s{0,20}- (?:[-!\d/_]{3,30}: )?(?!User stack trace)(\S.*)$/;
const LIMIT = /^torch\._dynamo hit config\.(\w{1,60}) \((\d{1,9})\)/;
const LIMITED = /^\s{1,20}function: '(.{1,200})' \((.{1,400}):(\d{1,9})\)/;
const LAST_REASON = /^\s{1,20}last reason: (?:[-!\d/_]{3,30}: )?(.+)$/;

/** Follows what each rank logs, line by line: the ranks may be mixed. */
export class CompileEvents {
  readonly #totals: CompileTotals;
  readonly #contexts = new Map<number | null, Context>();

  constructor(totals: CompileTotals) {
    this.#totals = totals;
  }

  line({ rank, text }: LogLine, at: number): void {
    const totals = this.#totals;
    const context = this.#contextOf(rank);
    let match = RECOMPILING.exec(text);
    if (match) {
      context.function = totals.recompiled(rank, match[1]!, match[2]!, Number(match[3]), at);
      return;
    }
    match = LIMIT.exec(text);
    if (match) {
      context.limit = { setting: match[1]!, value: Number(match[2]) };
      return;
    }
    match = LIMITED.exec(text);
    if (match && context.limit) {
      context.function = totals.limited(rank, match[1]!, match[2]!, Number(match[3]), context.limit, at);
      context.limit = null;
      return;
    }
    const place = breakPlace(text);
    if (place) {
      context.graphBreak = totals.brokeAt(rank, place.file, place.line, at);
      return;
    }
    const reason = breakReason(text);
    if (reason && context.graphBreak) {
      context.graphBreak.reason ||= reason;
      return;
    }
    match = LAST_REASON.exec(text) ?? GUARD.exec(text);
    if (match && context.function) totals.guardFailed(context.function, match[1]!, at);
  }

  #contextOf(rank: number | null): Context {
    let context = this.#contexts.get(rank);
    if (!context) {
      context = { function: null, limit: null, graphBreak: null };
      // Ranks that a broken prefix makes up must not fill the memory.
      if (this.#contexts.size < 1 << 16) this.#contexts.set(rank, context);
    }
    return context;
  }
}

/** One line of torch's log without its prefix. */
interface LogLine {
  readonly rank: number | null;
  readonly text: string;
}

/**
 * `W1115 00:59:44.690000 402 torch/_dynamo/convert_frame.py:1743] [0/8] …` (torch 2.3 and newer). Launchers put the rank and
 * names of their own before it.
 */
const NEW =
  /^(.{0,100}?)[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d{3,9} \d{1,10} (?:\S{0,400}\/)?torch\/\S{1,200}:\d{1,6}\] ?(?:\[[-!\d/_]{3,30}\] ?)?(?:\[__\w{1,40}\] ?)?/;
/** `[2024-01-15 00:59:44,690] [0/8] torch._dynamo.convert_frame: [WARNING] …` (torch 2.1 and 2.2). */
const OLD =
  /^(.{0,100}?)\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:\[[-!\d/_]{3,30}\] )?torch\.[\w.]{1,200}: \[[A-Z]{1,10}\] ?/;
const RANK = /\[(?:rank|default)(\d{1,6})\]:/;

/** Null: not a line of torch's log. */
export function parseLogLine(line: string): LogLine | null {
  const match = NEW.exec(line) ?? OLD.exec(line);
  if (!match) return null;
  const rank = RANK.exec(match[1]!)?.[1];
  return { rank: rank === undefined ? null : Number(rank), text: line.slice(match[0].length) };
}
