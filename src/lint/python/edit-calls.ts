import type { SyntaxNode } from '@lezer/common';
import type { Edit } from '../../base/unified-diff.js';
import { argumentsOf, childrenOf, isMark } from './nodes.js';
import type { Call, Script } from './script.js';

/** Parameters that scripts pass by position, in order. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  DataLoader: [
    ...['dataset', 'batch_size', 'shuffle', 'sampler', 'batch_sampler', 'num_workers', 'collate_fn'],
    ...['pin_memory', 'drop_last', 'timeout', 'worker_init_fn'],
  ],
};

/** What makes a call pass these arguments: `num_workers=8`. Null: what it passes is not in the text. */
export function editCall(
  call: Call,
  settings: readonly string[],
  { source }: Script,
): readonly Edit[] | null {
  const list = call.node.getChild('ArgList');
  if (!list || childrenOf(list).some(({ name }) => name === 'for')) return null;
  const { positional, keywords, hasSpread } = argumentsOf(list, source.text);
  const edits: Edit[] = [];
  const added: string[] = [];
  for (const setting of settings) {
    const equals = setting.indexOf('=');
    const [name, value] = [setting.slice(0, equals).trim(), setting.slice(equals + 1).trim()];
    const at = PARAMETERS[call.method]?.indexOf(name) ?? -1;
    const given = keywords.get(name) ?? (at >= 0 && !hasSpread ? positional[at] : undefined);
    if (given) edits.push({ from: given.from, to: given.to, text: value });
    // It may be among those that are passed on.
    else if (hasSpread) return null;
    else added.push(`${name}=${value}`);
  }
  return added.length > 0 ? [...edits, addition(list, added, source.text)] : edits;
}

/** After the last argument, on lines of their own if that one has its own line. */
function addition(list: SyntaxNode, added: readonly string[], text: string): Edit {
  const last = childrenOf(list).findLast((child) => !isMark(child));
  if (!last) return { from: list.from + 1, to: list.from + 1, text: added.join(', ') };
  const first = startOfArgument(last);
  const line = text.lastIndexOf('\n', first.from) + 1;
  const indent = text.slice(line, first.from);
  const end = text[line - 2] === '\r' ? '\r\n' : '\n';
  const between = /^\s*$/.test(indent) && line > list.from ? `,${end}${indent}` : ', ';
  return { from: last.to, to: last.to, text: added.map((setting) => between + setting).join('') };
}

/** `key=value` starts at the key. */
function startOfArgument(last: SyntaxNode): SyntaxNode {
  const [before, key] = [last.prevSibling, last.prevSibling?.prevSibling];
  return before?.name === 'AssignOp' && key ? key : last;
}

/** Lines that go after the first `import torch` at the top of the file. Null: there is none. */
export function addAfterTorch(lines: readonly string[], { source, blocks, imports }: Script): Edit | null {
  const top = blocks.find(({ kind }) => kind === 'module')?.owner;
  if (!top || imports.get('torch') !== 'torch') return null;
  const statement = childrenOf(top).find(
    (node) => node.name === 'ImportStatement' && /^import\b.*\btorch\b(?!\.)/.test(source.textOf(node)),
  );
  if (!statement) return null;
  const number = source.lineAt(statement.to);
  const text = source.line(number);
  const at = source.text.indexOf(text, source.text.lastIndexOf('\n', statement.to - 1) + 1) + text.length;
  const end = source.text[at] === '\r' ? '\r\n' : '\n';
  return { from: at, to: at, text: lines.map((line) => end + line).join('') };
}
