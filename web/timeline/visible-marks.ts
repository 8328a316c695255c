import { options, type VNode } from 'preact';
import { printable } from '../../src/base/printable.js';

/** Names come from files. A mark of direction in one would reorder what is written around it, such as a path or a figure. */
const MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Direction marks as `\u202e`, like on the terminal. */
export const visibleMarks = (text: string): string => text.replace(MARKS, printable);

/** Makes them visible in all texts and tooltips of the page, wherever they come from. */
export function showMarks(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === 'string') showIn(vnode as VNode<Texts>);
    before?.(vnode);
  };
}

interface Texts {
  children?: unknown;
  title?: unknown;
  'aria-label'?: unknown;
}

function showIn({ props }: VNode<Texts>): void {
  if (props.children !== undefined) props.children = shown(props.children) as VNode;
  for (const name of ['title', 'aria-label'] as const)
    if (typeof props[name] === 'string') props[name] = visibleMarks(props[name]);
}

function shown(child: unknown): unknown {
  if (typeof child === 'string') return visibleMarks(child);
  return Array.isArray(child) && child.some(isText) ? child.map(shown) : child;
}

const isText = (child: unknown): boolean => typeof child === 'string' || Array.isArray(child);
