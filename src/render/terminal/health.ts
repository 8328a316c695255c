import type { Grade, HealthProblem, Severity } from '../../base/check.js';
import { namedRanks } from '../../base/rank-ranges.js';
import { formatNumber } from '../../base/units.js';
import { type Colors, hanging, type Page, type Paint } from './page.js';

export function gradePaint(grade: Grade, c: Colors): Paint {
  return { good: c.green, usable: c.yellow, poor: c.red }[grade];
}

/** A problem, where it is, and what it means for the figures. */
export function healthProblem(problem: HealthProblem, severalRanks: boolean, page: Page): string[] {
  const { c } = page;
  const mark: Record<Severity, string> = { severe: c.red('✗'), warning: c.yellow('!'), note: c.dim('·') };
  const times = problem.count > 1 ? ` (${formatNumber(problem.count)} ×)` : '';
  const position = problem.first ? ` [${problem.first.unit.replace('-', ' ')} ${problem.first.at}]` : '';
  const ranks = problem.ranks.length > 0 && severalRanks ? ` on ${namedRanks(problem.ranks)}` : '';
  const text = `${problem.code}: ${problem.message}${times}${ranks}${position} → ${problem.consequence}`;
  return hanging('    ', text, page).map((line, i) =>
    i === 0 ? `  ${mark[problem.severity]} ${line.slice(4)}` : line,
  );
}
