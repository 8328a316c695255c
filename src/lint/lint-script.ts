import { messageOf } from '../base/input-error.js';
import { checkAttention } from './checks/attention.js';
import { checkCompiling } from './checks/compiling.js';
import { checkConvolutions } from './checks/convolutions.js';
import { checkDebugging } from './checks/debugging.js';
import { checkDeepSpeed } from './checks/deepspeed.js';
import { checkCollectives, checkDistributed } from './checks/distributed.js';
import { checkHostPauses, checkHostSync } from './checks/host-sync.js';
import { checkCopies, checkLoaders } from './checks/loader.js';
import { checkCheckpointing, checkOptimizers, checkZeroGrad } from './checks/optimizer.js';
import { checkPrecision } from './checks/precision.js';
import { checkLightningTrainer, checkTrainingArguments } from './checks/trainers.js';
import { type Check, type Fault, type LintFinding, RULE_NUMBERS } from './kit/finding.js';
import type { Source, Span } from './python/nodes.js';
import { readScript } from './python/read-script.js';
import { readTraining } from './training/training.js';

/** Every check. Add yours here. */
const CHECKS: readonly Check[] = [
  checkLoaders,
  checkCopies,
  checkHostSync,
  checkHostPauses,
  checkCollectives,
  checkDebugging,
  checkZeroGrad,
  checkPrecision,
  checkAttention,
  checkOptimizers,
  checkCompiling,
  checkCheckpointing,
  checkDistributed,
  checkConvolutions,
  checkTrainingArguments,
  checkLightningTrainer,
  checkDeepSpeed,
];

/** `# whyslow: ignore`, `# whyslow: ignore[T4]`, `# whyslow: ignore[T4, host-sync]`. */
const COMMENT = /#\s*whyslow:\s*ignore(?:\[([^\]]*)\])?/;

/** Whether a comment on the fault's lines, or alone on the line above, turns it off. */
function isIgnored({ id, at }: Fault, source: Source): boolean {
  const first = source.lineAt(at.from);
  const above = source.line(first - 1);
  const lines = above.trimStart().startsWith('#') ? [above] : [];
  for (let line = first; line <= source.lineAt(at.to); line++) lines.push(source.line(line));
  return lines.some((line) => {
    const found = COMMENT.exec(line);
    if (!found) return false;
    if (found[1] === undefined) return true;
    const names = found[1].split(',').map((name) => name.trim().toLowerCase());
    return names.includes(id) || names.includes(RULE_NUMBERS[id].toLowerCase());
  });
}

/** No script written by people is longer. */
export const MAX_BYTES = 1 << 20;

export interface LintedFile {
  readonly file: string;
  readonly findings: readonly LintFinding[];
  /** Findings that comments turned off. */
  readonly ignored: number;
  /** What kept lint from reading all of it, one sentence each. */
  readonly problems: readonly string[];
}

/** Lints one file: a script, a notebook (`.ipynb`) or a DeepSpeed configuration (`.json`). Nothing in it is executed. A check that throws is a problem of the file. */
export function lintFile(file: string, content: string, checks: readonly Check[] = CHECKS): LintedFile {
  const notebook = /\.ipynb$/i.test(file) ? notebookCode(content) : null;
  if (/\.ipynb$/i.test(file) && !notebook)
    return { file, findings: [], ignored: 0, problems: ['it is not a notebook: there are no cells in it'] };
  const script = readScript(notebook?.text ?? content);
  const { source, errors } = script;
  const training = readTraining(script);
  const problems = errors.length > 0 ? [notUnderstood(errors, source, notebook)] : [];
  const found = checks.flatMap((check) => {
    try {
      return check(training);
    } catch (error) {
      problems.push(`a check failed (${messageOf(error)}); please report it`);
      return [];
    }
  });
  const faults = onePerLine(found, source);
  const shown = faults.filter((fault) => !isIgnored(fault, source));
  const findings = shown.map((fault) => findingOf(fault, file, source, notebook));
  return { file, findings, ignored: faults.length - shown.length, problems };
}

/** The parser is not Python's own: what it does not know may still be Python. */
function notUnderstood(errors: readonly Span[], source: Source, notebook: NotebookCode | null): string {
  const line = source.lineAt(errors[0]!.from);
  const place = notebook?.places[line - 1];
  const where = place ? `cell ${place.cell}, line ${place.line}` : `line ${line}`;
  const what =
    errors.length === 1
      ? `not understood in ${where}`
      : `not understood in ${errors.length} places, the first in ${where}`;
  return `${what}; faults there may be missed`;
}

function findingOf(fault: Fault, file: string, source: Source, notebook: NotebookCode | null): LintFinding {
  const line = source.lineAt(fault.at.from);
  const endLine = source.lineAt(fault.at.to);
  const place = notebook?.places[line - 1];
  return {
    rule: RULE_NUMBERS[fault.id],
    id: fault.id,
    file,
    cell: place?.cell ?? null,
    line: place?.line ?? line,
    column: source.columnAt(fault.at.from),
    end_line: notebook?.places[endLine - 1]?.line ?? endLine,
    end_column: source.columnAt(fault.at.to),
    message: fault.message,
    fix: fault.fix,
    source: source.line(line).trim(),
  };
}

/** In the order of the file. A line that breaks a rule twice is reported once. */
function onePerLine(faults: readonly Fault[], source: Source): Fault[] {
  const seen = new Set<string>();
  return faults
    .toSorted((a, b) => a.at.from - b.at.from)
    .filter(({ id, at }) => {
      const key = `${source.lineAt(at.from)} ${id}`;
      const isNew = !seen.has(key);
      seen.add(key);
      return isNew;
    });
}

/** A notebook's code as one script, and where its cells start. */
interface NotebookCode {
  readonly text: string;
  /** For every line of the text, which cell it is from and which line of it, from 1. */
  readonly places: readonly { readonly cell: number; readonly line: number }[];
}

/** The code cells of a Jupyter notebook. Null: it is no notebook. */
function notebookCode(json: string): NotebookCode | null {
  const cells = cellsOf(json);
  if (!cells) return null;
  const lines: string[] = [];
  const places: { cell: number; line: number }[] = [];
  cells.forEach((cell, index) => {
    if (cell.cell_type !== 'code') return;
    const source = Array.isArray(cell.source) ? cell.source.join('') : String(cell.source ?? '');
    source.split('\n').forEach((line, i) => {
      // Magics and shell commands are not Python. They keep their line.
      lines.push(/^\s*[%!?]/.test(line) ? line.replace(/\S.*/, 'pass') : line);
      places.push({ cell: index + 1, line: i + 1 });
    });
  });
  return { text: lines.join('\n'), places };
}

interface Cell {
  readonly cell_type?: unknown;
  readonly source?: unknown;
}

function cellsOf(json: string): readonly Cell[] | null {
  try {
    const parsed = JSON.parse(json) as { cells?: unknown } | null;
    if (!Array.isArray(parsed?.cells)) return null;
    return parsed.cells.filter((cell): cell is Cell => typeof cell === 'object' && cell !== null);
  } catch {
    return null;
  }
}
