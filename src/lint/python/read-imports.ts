import type { SyntaxNode } from '@lezer/common';
import { childrenOf } from './nodes.js';

/** `import a.b as c`, `from a.b import c as d, e`. Relative imports keep their dots: `.engine.train`. */
export function readImports(statement: SyntaxNode, text: string, imports: Map<string, string>): void {
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
