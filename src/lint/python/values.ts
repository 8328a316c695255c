import type { SyntaxNode } from '@lezer/common';
import { stringIn, unwrapped } from './nodes.js';
import type { Assignment, Script } from './script.js';

/** A value that the file itself settles. `undefined`: it does not. */
export type Constant = boolean | number | string | null;

/** Names that lead to names, at most this often. */
const MAX_HOPS = 3;

/**
 * Values of expressions that need no execution: literals, names assigned one constant, fields of classes, and defaults of
 * command-line options.
 */
export class Values {
  readonly #script: Script;
  readonly #byTarget = new Map<string, Assignment[]>();
  readonly #options = new Map<string, SyntaxNode | null>();

  constructor(script: Script) {
    this.#script = script;
    for (const assignment of script.assignments)
      for (const target of assignment.targets) {
        const name = target.replace(/^self\./, '');
        const same = this.#byTarget.get(name);
        if (same) same.push(assignment);
        else this.#byTarget.set(name, [assignment]);
      }
    for (const call of script.calls)
      if (call.method === 'add_argument') this.#readOption(call.positional, call);
  }

  /** What an expression is. Undefined: only running the script tells. */
  of(node: SyntaxNode | undefined, hops = 0): Constant | undefined {
    if (!node || hops > MAX_HOPS) return undefined;
    const expression = unwrapped(node);
    const text = this.#script.source.textOf(expression);
    switch (expression.name) {
      case 'Boolean':
        return text === 'True';
      case 'None':
        return null;
      case 'Number':
        return Number(text.replaceAll('_', ''));
      case 'String':
        return stringIn(text);
      case 'VariableName':
      case 'MemberExpression':
        return JSON_WORDS.has(text) ? JSON_WORDS.get(text) : this.#named(text, hops);
      default:
        return undefined;
    }
  }

  /** Assignments to a name, anywhere in the file. */
  assignmentsTo(name: string): readonly Assignment[] {
    return this.#byTarget.get(name) ?? [];
  }

  /** Whether any text assigned to the attribute or name ends like this, e.g. `cudnn.benchmark`. */
  assigned(ending: string): readonly Assignment[] {
    return [...this.#byTarget]
      .filter(([name]) => name === ending || name.endsWith(`.${ending}`))
      .flatMap(([, a]) => a);
  }

  #named(name: string, hops: number): Constant | undefined {
    const own = this.#byTarget.get(name.replace(/^self\./, ''));
    const value = own?.[0]?.value;
    if (own?.length === 1 && !own[0]!.isUpdate && isAlone(own[0]!)) return this.of(value, hops + 1);
    if (own || !name.includes('.')) return undefined;
    // `args.workers`: an option of the command line, or the field of a class.
    const field = name.slice(name.lastIndexOf('.') + 1);
    const option = this.#options.get(field);
    if (option !== undefined) return option === null ? undefined : this.of(option, hops + 1);
    const fields = (this.#byTarget.get(field) ?? []).filter((a) => a.block.kind === 'class');
    return fields.length === 1 ? this.of(fields[0]!.value, hops + 1) : undefined;
  }

  #readOption(
    names: readonly SyntaxNode[],
    { keywords }: { keywords: ReadonlyMap<string, SyntaxNode> },
  ): void {
    const long = names
      .map((n) => stringIn(this.#script.source.textOf(n)))
      .findLast((n) => n.startsWith('--'));
    if (!long) return;
    const dest = keywords.get('dest');
    const name = dest ? stringIn(this.#script.source.textOf(dest)) : long.slice(2).replaceAll('-', '_');
    this.#options.set(name, keywords.get('default') ?? null);
  }
}

/** JSON is read by the same parser. */
const JSON_WORDS = new Map<string, Constant>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** `a, b = call()` says nothing about either. */
const isAlone = (assignment: Assignment): boolean => assignment.targets.length === 1;
