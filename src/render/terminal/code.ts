import { printable } from '../../base/printable.js';
import type { Page } from './page.js';
import { displayWidth, wrap } from './text.js';

/** Code to paste. Lines and indentation are kept; a comment that makes its line too long moves above it. */
export function codeLines(code: string, page: Page, indent: string): string[] {
  return code
    .trimEnd()
    .split('\n')
    .flatMap((line) => narrowed(indent + printable(line.replaceAll('\t', '    ')), page.width));
}

/** Its arguments are the user's own words, which may look like anything. */
const OURS = /^ *whyslow /;
/** Pasted in two lines it would be two commands. The terminal wraps it as one. */
const COMMAND =
  /^ *(?:\w+=\S+ )*(?:whyslow|python|torchrun|nsys|ncu|py-spy|nvidia-smi|all_reduce_perf|export|dmesg|docker|ssh) /;

function narrowed(line: string, width: number): string[] {
  if (displayWidth(line) <= width) return [line];
  const indent = /^ */.exec(line)![0];
  const isComment = line.startsWith('#', indent.length);
  const comment = isComment || OURS.test(line) ? -1 : line.lastIndexOf(' # ');
  if (comment > 0) {
    const above = indent + line.slice(comment + 1);
    return [...narrowed(above, width), ...narrowed(line.slice(0, comment).trimEnd(), width)];
  }
  if (COMMAND.test(line)) return [line];
  // A call may be broken between its arguments; every line of a comment needs its own `#`.
  return wrap(line, width, isComment ? `${indent}# ` : `${indent}    `).split('\n');
}
