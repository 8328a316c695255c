/** A notebook's code as one script, and where its cells start. */
export interface NotebookCode {
  readonly text: string;
  /** For every line of the text, which cell it is from and which line of it, from 1. */
  readonly places: readonly { readonly cell: number; readonly line: number }[];
}

/** The code cells of a Jupyter notebook. Null: it is no notebook. */
export function notebookCode(json: string): NotebookCode | null {
  const cells = cellsOf(json);
  if (!cells) return null;
  const lines: string[] = [];
  const places: { cell: number; line: number }[] = [];
  cells.forEach((cell, index) => {
    if (cell.cell_type !== 'code') return;
    const source = Array.isArray(cell.source) ? cell.source.join('') : String(cell.source ?? '');
    source.split('\n').forEach((line, i) => {
      // Magics and shell commands are not Python. They keep their line.
      lines.push(/^\s*[%!?]/.test(line) ? line.replace(/\S.*/, 'pass') : line);
      places.push({ cell: index + 1, line: i + 1 });
    });
  });
  return { text: lines.join('\n'), places };
}

interface Cell {
  readonly cell_type?: unknown;
  readonly source?: unknown;
}

function cellsOf(json: string): readonly Cell[] | null {
  try {
    const parsed = JSON.parse(json) as { cells?: unknown } | null;
    if (!Array.isArray(parsed?.cells)) return null;
    return parsed.cells.filter((cell): cell is Cell => typeof cell === 'object' && cell !== null);
  } catch {
    return null;
  }
}
