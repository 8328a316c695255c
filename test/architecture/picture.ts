import { dirname } from 'node:path';
import { type Graph, graphOf, layerOf, sourceFiles, withoutShortcuts } from './import-graph.js';

/** The import graph as ARCHITECTURE.md shows it: layers as Mermaid draws them, then the folders inside layers as text. */
export function pictureOf(files: readonly string[] = sourceFiles()): string {
  const layers = withoutShortcuts(graphOf(files, layerOf));
  const mermaid = ['```mermaid', 'flowchart BT', ...arrows(layers).map(([a, b]) => `  ${a} --> ${b}`), '```'];
  return [...mermaid, '', ...insideLayers(files)].join('\n');
}

const arrows = (graph: Graph) =>
  [...graph].flatMap(([from, targets]) => [...targets].sort().map((to) => [from, to] as const));

/** `traces: plan → detail → timeline → kernels`: one line for each arrow that no longer way replaces. */
function insideLayers(files: readonly string[]): string[] {
  const folders = withoutShortcuts(graphOf(files, dirname));
  const lines = [...new Set(files.map(layerOf))].flatMap((layer) => {
    const inside = arrows(folders)
      .filter(([from, to]) => layerOf(from) === layer && layerOf(to) === layer)
      .map(([from, to]) => `${from} → ${to}`);
    return inside.length > 0 ? [inside.join(', ')] : [];
  });
  return ['```', ...lines, '```'];
}
