import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../../src', import.meta.url));
const isTest = (file: string) => /\.test\.ts$/.test(file);

export interface Import {
  /** Relative to src. */
  readonly file: string;
  /** Relative to src for our own files, else the package's name. */
  readonly target: string;
  readonly own: boolean;
}

/** Files of the program, tests left out. index.ts stands above all folders. */
export function sourceFiles(): string[] {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' });
  return files.filter((f) => f.endsWith('.ts') && !isTest(f) && f !== 'index.ts').sort();
}

export const sourceText = (file: string) => readFileSync(join(src, file), 'utf8');

export function importsOf(file: string): Import[] {
  const found = sourceText(file).matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\(\s*)'([^']+)'/g);
  return [...found].map(([, target = '']) => {
    const own = target.startsWith('.');
    return { file, target: own ? normalize(join(dirname(file), target)) : target, own };
  });
}

export const layerOf = (file: string) => file.split('/')[0]!;

export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Who imports whom; `nameOf` says what counts as one node: a file's layer, its folder. */
export function graphOf(files: readonly string[], nameOf: (file: string) => string): Graph {
  const graph = new Map<string, Set<string>>();
  for (const file of files) {
    const from = graph.get(nameOf(file)) ?? new Set();
    graph.set(nameOf(file), from);
    for (const { target, own } of importsOf(file)) {
      const to = nameOf(target);
      if (own && to !== nameOf(file)) from.add(to);
    }
  }
  return graph;
}

/** Nodes on a cycle, cycle by cycle (Tarjan's strongly connected components). */
export function cyclesIn(graph: Graph): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (node: string) => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!));
    }
    if (low.get(node) !== index.get(node)) return;
    const component = stack.splice(stack.indexOf(node));
    if (component.length > 1) cycles.push(component.sort());
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return cycles;
}

/** Only the arrows that no longer way replaces: what a reader needs to see the direction. */
export function withoutShortcuts(graph: Graph): Graph {
  const reached = new Map<string, Set<string>>();
  const allFrom = (from: string): Set<string> => {
    const known = reached.get(from);
    if (known) return known;
    const all = new Set<string>();
    // Before its targets: the search ends even where folders import each other.
    reached.set(from, all);
    for (const next of graph.get(from) ?? []) for (const to of [next, ...allFrom(next)]) all.add(to);
    return all;
  };
  return new Map(
    [...graph].map(([from, targets]) => {
      const longest = [...targets].filter(
        (to) => ![...targets].some((via) => via !== to && allFrom(via).has(to)),
      );
      return [from, new Set(longest)];
    }),
  );
}
