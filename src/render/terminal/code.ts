import { printable } from '../../base/printable.js';
import type { Page } from './page.js';
import { wrap } from './text.js';
import { displayWidth } from './width.js';

/** Code to paste. Lines and indentation are kept; a comment that makes its line too long moves above it. */
export function codeLines(code: string, page: Page, indent: string): string[] {
  return code
    .trimEnd()
    .split('\n')
    .flatMap((line) => narrowed(indent + printable(line.replaceAll('\t', '    ')), page.width));
}

/** It ends in the user's own command. Pasted in two lines it would be two commands; the terminal wraps it as one. */
const OWN_COMMAND = /^ *whyslow run .*-- /;

function narrowed(line: string, width: number): string[] {
  if (displayWidth(line) <= width || OWN_COMMAND.test(line)) return [line];
  const indent = /^ */.exec(line)![0];
  const isComment = line.startsWith('#', indent.length);
  const comment = isComment ? -1 : line.lastIndexOf(' # ');
  if (comment > 0) {
    const above = indent + line.slice(comment + 1);
    return [...narrowed(above, width), ...narrowed(line.slice(0, comment).trimEnd(), width)];
  }
  // A call may be broken between its arguments; every line of a comment needs its own `#`.
  return wrap(line, width, isComment ? `${indent}# ` : `${indent}    `).split('\n');
}
