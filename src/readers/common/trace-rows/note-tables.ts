import type { ProblemLog } from '../../../base/problem.js';
import { StringTable } from '../../../model/string-table.js';
import type { ScannerTables } from './batch.js';
import { COUNTER_PROBLEMS } from './counters.js';

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
