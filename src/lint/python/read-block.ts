import type { SyntaxNode } from '@lezer/common';
import { argumentsOf, childrenOf, type Span } from './nodes.js';
import type { Block, FunctionBlock } from './script.js';

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
