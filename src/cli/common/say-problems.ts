import { formatNumber } from '../../base/units.js';
import type { Problem } from '../../library/vocabulary.js';
import { type CommandContext, say } from './context.js';

/** What was wrong with the files, a line each, in the words of the report. */
export function sayProblems(problems: readonly Problem[], context: CommandContext): void {
  for (const { message, consequence, count } of problems) {
    const often = count > 1 ? ` (${formatNumber(count)} times)` : '';
    say(context, `${message.replace(/\.$/, '')}${often} → ${consequence.replace(/\.$/, '')}`);
  }
}
