import { type Fault, RULE_NUMBERS } from './kit/finding.js';
import type { Source } from './python/source.js';

/** `# whyslow: ignore`, `# whyslow: ignore[T4]`, `# whyslow: ignore[T4, host-sync]`. */
const COMMENT = /#\s*whyslow:\s*ignore(?:\[([^\]]*)\])?/;

/** Whether a comment on the fault's lines, or alone on the line above, turns it off. */
export function isIgnored({ id, at }: Fault, source: Source): boolean {
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
