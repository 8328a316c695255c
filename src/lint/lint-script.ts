import { messageOf } from '../base/input-error.js';
import { checkAttention } from './checks/attention.js';
import { checkCheckpointing } from './checks/checkpointing.js';
import { checkCollectives } from './checks/collectives.js';
import { checkCompiling } from './checks/compiling.js';
import { checkConvolutions } from './checks/convolutions.js';
import { checkCopies } from './checks/copies.js';
import { checkDebugging } from './checks/debugging.js';
import { checkDeepSpeed } from './checks/deepspeed.js';
import { checkDistributed } from './checks/distributed.js';
import { checkHostPauses } from './checks/host-pauses.js';
import { checkHostSync } from './checks/host-sync.js';
import { checkLightningTrainer } from './checks/lightning-trainer.js';
import { checkLoaders } from './checks/loader.js';
import { checkOptimizers } from './checks/optimizer.js';
import { checkPrecision } from './checks/precision.js';
import { checkTrainingArguments } from './checks/training-arguments.js';
import { checkZeroGrad } from './checks/zero-grad.js';
import { type Check, type Fault, type LintFinding, RULE_NUMBERS } from './kit/finding.js';
import { type NotebookCode, notebookCode } from './notebook.js';
import { readScript } from './python/read-script.js';
import type { Source, Span } from './python/source.js';
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

/** Lints one file: a script, a notebook (`.ipynb`) or a configuration of DeepSpeed (`.json`). Nothing in it is executed. A check that throws is a problem of the file. */
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
