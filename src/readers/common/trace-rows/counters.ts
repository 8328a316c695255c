import type { ProblemLog, ProblemText } from '../../../base/problem.js';
import { StringTable } from '../../../model/string-table.js';
import type { ScannerTables } from './batch.js';

/** What the scanners tolerate. The order is shared with wasm/assembly/counters.ts. */
export const COUNTER = {
  nonFinite: 0,
  trailingComma: 1,
  missingComma: 2,
  noPhase: 3,
  longString: 4,
  stringsFull: 5,
  kindsFull: 6,
  tracksFull: 7,
  noTimestamp: 8,
  noDuration: 9,
  wideLost: 10,
} as const;

const problem = (code: string, message: string, consequence: string) => ({ code, message, consequence });

/** In the order of COUNTER. */
export const COUNTER_PROBLEMS: readonly (ProblemText & { readonly code: string })[] = [
  problem('non-finite-number', 'NaN or infinity where JSON allows only numbers', 'read as missing'),
  problem('trailing-comma', 'a comma before a closing bracket', 'none'),
  problem('missing-comma', 'no comma between two events', 'none'),
  problem('not-an-event', 'an object in traceEvents without "ph"', 'left out'),
  problem('long-string', 'a text above 64 KiB', 'cut to 64 KiB'),
  problem(
    'too-many-strings',
    'more than 4 million different texts, or 256 MB of them',
    'further texts are read as missing',
  ),
  problem('too-many-kinds', 'more than 255 categories', 'further categories count as one'),
  problem('too-many-tracks', 'more than 65534 threads', 'further threads count as one'),
  problem('no-timestamp', 'an event without a time', 'kept, but not used in any analysis'),
  problem('no-duration', 'a complete event ("X") without a duration', 'its duration counts as 0'),
  problem(
    'too-many-wide-ids',
    'more than four ids above 32 bits in one event',
    'further ids are read as missing',
  ),
];

/** Reports what was tolerated while the rows were made. */
export function noteTables(tables: ScannerTables, problems: ProblemLog): void {
  noteCounters(tables, problems);
  noteOddStrings(tables, problems);
}

function noteCounters(tables: ScannerTables, problems: ProblemLog): void {
  COUNTER_PROBLEMS.forEach((p, i) => {
    const { count, first } = tables.counters[i] ?? { count: 0, first: 0 };
    problems.add(p.code, p, { unit: 'byte', at: first }, count);
  });
}

/** Reports texts with control characters or broken UTF-8, of those that were kept. */
function noteOddStrings(tables: ScannerTables, problems: ProblemLog): void {
  const strict = new TextDecoder('utf-8', { fatal: true });
  const strings = new StringTable({ bytes: tables.stringBytes, starts: tables.stringStarts });
  for (const { id, offset } of tables.oddStrings) {
    const raw = strings.raw(id);
    const first = { unit: 'byte', at: offset } as const;
    // Lists and objects may span lines; a string may not.
    if (strings.isString(id) && raw.some((c) => c < 0x20)) problems.add('control-character', CONTROL, first);
    try {
      strict.decode(raw);
    } catch {
      problems.add('invalid-utf8', INVALID_UTF8, first);
    }
  }
}
const CONTROL = {
  message: 'a text with raw control characters',
  consequence: 'kept; shown escaped',
};
const INVALID_UTF8 = {
  message: 'a text that is not valid UTF-8',
  consequence: 'the bad bytes show as U+FFFD',
};
