import type { SyntaxNode, Tree } from '@lezer/common';
import { parser } from '@lezer/python';
import { argumentsOf, childrenOf, isMark, Source, type Span, unwrapped } from './nodes.js';
import {
  type Assignment,
  type Block,
  type Call,
  type DictionaryLiteral,
  type FunctionBlock,
  isFunction,
  type Script,
} from './script.js';

/** Deeper than people write. */
const MAX_DEPTH = 1000;
/** Longer dotted names are not names of anything we know. */
const MAX_PARTS = 32;

/** Reads a Python file. Never throws on what is in it: what cannot be parsed is listed in `errors`. */
export function readScript(text: string): Script {
  const source = new Source(text);
  const imports = new Map<string, string>();
  const tree = parse(text);
  const blocks: Block[] = [];
  const calls: Call[] = [];
  const assignments: Assignment[] = [];
  const dictionaries: DictionaryLiteral[] = [];
  const errors: Span[] = tree ? [] : [{ from: 0, to: text.length }];
  const nameOf = (node: SyntaxNode) => dottedName(node, text, imports);
  // Imports anywhere in the file count for all of it: names are rarely imported twice as different things.
  tree?.iterate({
    enter(node) {
      if (node.name === 'ImportStatement') readImports(node.node, text, imports);
    },
  });
  let block: Block | null = null;
  const open: (Block | null)[] = [];
  // The cursor walks without recursion: deep nesting cannot overflow the stack. But each node looks at those around it.
  tree?.iterate({
    enter(cursor) {
      if (open.length === MAX_DEPTH) {
        errors.push({ from: cursor.from, to: cursor.to });
        return false;
      }
      const outer = block;
      open.push(outer);
      if (cursor.type.isError && !isBareYield(cursor.from, text))
        errors.push({ from: cursor.from, to: cursor.to });
      if (!INTERESTING.has(cursor.name)) return true;
      const node = cursor.node;
      const opened = readBlock(node, outer, { text, nameOf });
      if (opened) {
        block = opened;
        blocks.push(opened);
      } else if (outer === null) return true;
      else if (node.name === 'CallExpression') calls.push(readCall(node, outer, text, nameOf));
      else if (node.name === 'DictionaryExpression') dictionaries.push({ node, block: outer });
      else if (node.name === 'AssignStatement' || node.name === 'UpdateStatement')
        for (const assignment of readAssignments(node, outer, text)) assignments.push(assignment);
      return true;
    },
    leave() {
      block = open.pop() ?? null;
    },
  });
  const functions = blocks.filter((b): b is FunctionBlock => isFunction(b));
  return { source, imports, blocks, calls, assignments, functions, dictionaries, errors, nameOf };
}

/** Null: brackets nested about a hundred thousand deep, which overflow the parser's stack. */
function parse(text: string): Tree | null {
  try {
    return parser.parse(inItsGrammar(text));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Python that the parser's grammar does not know: `100. * x`, and `as` in the brackets of a `with`. Offsets stay. */
const inItsGrammar = (text: string): string =>
  text
    .replace(/(?<=[^\w.]\d+)\.(?![\w.])/g, ' ')
    .replace(/^[ \t]*(?:async )?with \([ \t]*\n[\s\S]{0,4000}?^[ \t]*\):/gm, (items) =>
      items.replace(/\bas[ \t]+[\w.]+(?=[ \t]*,?[ \t]*(?:#.*)?$)/gm, (name) => ' '.repeat(name.length)),
    );

/** `yield` without a value is Python, too. */
const isBareYield = (at: number, text: string): boolean =>
  /\byield\s*$/.test(text.slice(Math.max(0, at - 20), at));

const INTERESTING = new Set([
  'Script',
  'Body',
  'LambdaExpression',
  'ConditionalExpression',
  'ArrayComprehensionExpression',
  'ComprehensionExpression',
  'SetComprehensionExpression',
  'DictionaryComprehensionExpression',
  'CallExpression',
  'DictionaryExpression',
  'AssignStatement',
  'UpdateStatement',
]);

function dottedName(node: SyntaxNode, text: string, imports: ReadonlyMap<string, string>): string {
  const parts: string[] = [];
  let at: SyntaxNode | null = unwrapped(node);
  while (at?.name === 'MemberExpression' && parts.length < MAX_PARTS) {
    const last: SyntaxNode | null = at.lastChild;
    if (last?.name !== 'PropertyName') break;
    parts.push(text.slice(last.from, last.to));
    at = at.firstChild && unwrapped(at.firstChild);
  }
  if (at?.name !== 'VariableName') return ['?', ...parts.reverse()].join('.');
  const first = text.slice(at.from, at.to);
  return [imports.get(first) ?? first, ...parts.reverse()].join('.');
}

function readCall(node: SyntaxNode, block: Block, text: string, nameOf: (n: SyntaxNode) => string): Call {
  const called = node.firstChild!;
  const name = nameOf(called);
  const receiver = called.name === 'MemberExpression' ? called.firstChild : null;
  const { positional, keywords, hasSpread } = argumentsOf(node.getChild('ArgList'), text);
  return {
    node,
    name,
    method: name.slice(name.lastIndexOf('.') + 1),
    receiver: receiver && unwrapped(receiver),
    positional,
    keywords,
    hasSpread,
    block,
    target: targetOf(node, text),
  };
}

/** How far up a statement is searched from a call in it. */
const MAX_LEVELS = 12;

/** The name its value is assigned to, through wrappers: `self.loader = accelerator.prepare(DataLoader(…))`. */
function targetOf(node: SyntaxNode, text: string): string | null {
  let at: SyntaxNode | null = node.parent;
  for (let level = 0; at && level < MAX_LEVELS; level++, at = at.parent) {
    if (at.name === 'AssignStatement') return text.slice(at.from, at.firstChild!.to).replace(/^self\./, '');
    if (at.name.endsWith('Statement') || at.name === 'Body') return null;
  }
  return null;
}

/** `a = b = value` gives one for each target; `a, b = x, y` one for each pair. */
function readAssignments(statement: SyntaxNode, block: Block, text: string): Assignment[] {
  const parts: SyntaxNode[][] = [[]];
  const isUpdate = statement.name === 'UpdateStatement';
  for (const child of childrenOf(statement)) {
    if (child.name === 'AssignOp' || child.name === 'UpdateOp') parts.push([]);
    else if (!isMark(child) && child.name !== 'TypeDef') parts.at(-1)!.push(child);
  }
  const values = parts.pop()!;
  if (parts.length === 0 || values.length === 0) return [];
  return parts.flatMap((targets) => {
    const names = targets.flatMap((t) => namesIn(t, text));
    const pairwise = names.length > 1 && names.length === values.length;
    const groups = pairwise ? names.map((n) => [n]) : [names];
    return groups.map((group, i) => ({
      targets: group,
      value: unwrapped(values[i] ?? values[0]!),
      span: { from: statement.from, to: statement.to },
      block,
      isUpdate,
    }));
  });
}

function namesIn(target: SyntaxNode, text: string): string[] {
  const node = unwrapped(target);
  if (node.name === 'VariableName' || node.name === 'MemberExpression')
    return [text.slice(node.from, node.to)];
  if (node.name === 'TupleExpression' || node.name === 'ArrayExpression')
    return childrenOf(node).flatMap((child) =>
      child.name === 'VariableName' || child.name === 'MemberExpression'
        ? [text.slice(child.from, child.to)]
        : [],
    );
  return [];
}

/** `import a.b as c`, `from a.b import c as d, e`. Relative imports keep their dots: `.engine.train`. */
function readImports(statement: SyntaxNode, text: string, imports: Map<string, string>): void {
  const words = childrenOf(statement).map((child) => text.slice(child.from, child.to));
  const first = words.indexOf('import');
  const isFrom = words[0] === 'from';
  const module = isFrom ? words.slice(1, first).join('') : '';
  let name = '';
  let alias = '';
  const add = () => {
    if (isFrom && name && name !== '*') imports.set(alias || name, `${module}.${name}`);
    // `import a.b` binds `a`.
    else if (!isFrom && name) imports.set(alias || name.split('.')[0]!, alias ? name : name.split('.')[0]!);
    name = '';
    alias = '';
  };
  let afterAs = false;
  for (const word of words.slice(first + 1)) {
    if (word === ',') add();
    else if (word === 'as') afterAs = true;
    else if (word === '(' || word === ')') continue;
    else if (afterAs) {
      alias = word;
      afterAs = false;
    } else name += word;
  }
  add();
}

interface Reading {
  readonly text: string;
  nameOf(node: SyntaxNode): string;
}

/** The block that a node opens. Null: it opens none. */
export function readBlock(node: SyntaxNode, parent: Block | null, reading: Reading): Block | null {
  const block = (kind: Block['kind'], owner: SyntaxNode, head: Span | null = null): Block => ({
    kind,
    parent,
    span: node,
    owner,
    head,
  });
  if (node.name === 'Script') return block('module', node);
  if (node.name === 'LambdaExpression') return block('lambda', node);
  if (node.name === 'ConditionalExpression') return block('if', node, childrenOf(node)[2] ?? null);
  if (node.name.endsWith('ComprehensionExpression')) return block('comprehension', node);
  const owner = node.parent;
  if (node.name !== 'Body' || !owner) return null;
  switch (owner.name) {
    case 'FunctionDefinition':
      return functionBlock(node, owner, parent, reading);
    case 'ClassDefinition':
      return block('class', owner);
    case 'ForStatement':
      return before(node, 'else') ? block('plain', owner) : block('for', owner, headOf(node));
    case 'WhileStatement':
      return before(node, 'else') ? block('plain', owner) : block('while', owner, headOf(node));
    case 'IfStatement':
      return before(node, 'else')
        ? block('else', owner, lastCondition(owner))
        : block('if', owner, headOf(node));
    case 'WithStatement':
      return block('with', owner, { from: owner.from, to: node.from });
    case 'TryStatement':
      return block(isHandler(node) ? 'except' : 'plain', owner);
    default:
      return block('plain', owner);
  }
}

/** Whether the keyword stands directly before the body. */
const before = (body: SyntaxNode, keyword: string): boolean => body.prevSibling?.name === keyword;

/** The expression before a body: a condition, an iterable. */
const headOf = (body: SyntaxNode): Span | null => body.prevSibling;

function isHandler(body: SyntaxNode): boolean {
  let at = body.prevSibling;
  while (at && at.name !== 'Body' && at.name !== 'except') at = at.prevSibling;
  return at?.name === 'except';
}

function lastCondition(statement: SyntaxNode): Span | null {
  const children = childrenOf(statement);
  const at = children.findLastIndex((child) => child.name === 'if' || child.name === 'elif');
  return children[at + 1] ?? null;
}

function functionBlock(
  body: SyntaxNode,
  owner: SyntaxNode,
  parent: Block | null,
  { text, nameOf }: Reading,
): FunctionBlock {
  const nameNode = owner.getChild('VariableName');
  const cls = parent?.kind === 'class' ? parent.owner : null;
  const className = cls?.getChild('VariableName');
  return {
    kind: 'function',
    parent,
    span: body,
    owner,
    head: null,
    name: nameNode ? text.slice(nameNode.from, nameNode.to) : '',
    className: className ? text.slice(className.from, className.to) : null,
    bases: argumentsOf(cls?.getChild('ArgList') ?? null, text).positional.map(nameOf),
  };
}
