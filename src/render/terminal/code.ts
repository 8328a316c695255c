import { printable, wrap } from './format.js';
import type { Page } from './page.js';
import { displayWidth } from './width.js';

/** Code to paste: lines and their indentation are kept; a comment that makes a line too long goes above it. */
export function codeLines(code: string, page: Page, indent: string): string[] {
  return code
    .trimEnd()
    .split('\n')
    .flatMap((line) => narrowed(indent + printable(line.replaceAll('\t', '    ')), page.width));
}

function narrowed(line: string, width: number): string[] {
  if (displayWidth(line) <= width) return [line];
  const indent = /^ */.exec(line)![0];
  const isComment = line.startsWith('#', indent.length);
  const comment = isComment ? -1 : line.lastIndexOf(' # ');
  if (comment > 0) {
    const above = indent + line.slice(comment + 1);
    return [...narrowed(above, width), ...narrowed(line.slice(0, comment).trimEnd(), width)];
  }
  // A long call may be broken anywhere between its parentheses; a comment must stay one.
  return wrap(line, width, isComment ? `${indent}# ` : `${indent}    `).split('\n');
}
