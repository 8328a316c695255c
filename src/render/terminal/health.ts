import type { Grade, HealthProblem, Severity } from '../../base/check.js';
import { formatRanks } from '../../base/rank-ranges.js';
import { formatCount } from './format.js';
import { type Colors, type Page, type Paint, paragraph } from './page.js';

export function gradePaint(grade: Grade, c: Colors): Paint {
  return { good: c.green, usable: c.yellow, poor: c.red }[grade];
}

/** A problem with what it means for the figures. */
export function healthProblem(problem: HealthProblem, severalRanks: boolean, page: Page): string[] {
  const { c } = page;
  const mark: Record<Severity, string> = { severe: c.red('✗'), warning: c.yellow('!'), note: c.dim('·') };
  const times = problem.count > 1 ? ` (${formatCount(problem.count)} ×)` : '';
  const where = problem.first ? ` [${problem.first.unit.replace('-', ' ')} ${problem.first.at}]` : '';
  const on = problem.ranks.length > 0 && severalRanks ? ` on rank ${formatRanks(problem.ranks)}` : '';
  const text = `${problem.code}: ${problem.message}${times}${on}${where} → ${problem.consequence}`;
  const [first, ...rest] = paragraph(text, page, '    ');
  return [`  ${mark[problem.severity]} ${first!.slice(4)}`, ...rest];
}
