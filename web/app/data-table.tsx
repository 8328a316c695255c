import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  /** What rows are sorted by. Numbers are aligned to the right, and largest come first. */
  readonly value: (row: Row) => number | string | null;
  readonly show?: (row: Row) => ComponentChildren;
  /** A long text that may wrap. */
  readonly long?: boolean;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly onRow?: (row: Row) => void;
}

/** At first; the rest comes on demand. */
const FIRST = 25;
/** Tables with so few columns are not stretched. */
const NARROW = 3;
/** They need no filter. */
const FEW = 15;
const MOST = 1000;

/** A table that sorts and filters. */
export function DataTable<Row>({ caption, columns, rows, onRow }: TableProps<Row>) {
  const order = useSignal<{ column: number; down: boolean } | null>(null);
  const wanted = useSignal('');
  const all = useSignal(false);
  const numeric = columns.map((c) => rows.some((row) => typeof c.value(row) === 'number'));
  const shown = sorted(filtered(rows, columns, wanted.value), columns, order.value);
  const first = shown.slice(0, all.value ? MOST : FIRST);
  const sortBy = (column: number) => {
    const down = order.value?.column === column ? !order.value.down : numeric[column]!;
    order.value = { column, down };
  };
  const directionOf = (column: number) =>
    order.value?.column !== column ? 'none' : order.value.down ? 'descending' : 'ascending';
  return (
    <div class={columns.length <= NARROW ? 'data-table narrow' : 'data-table'}>
      {rows.length > FEW && (
        <input
          type="search"
          placeholder="Filter"
          aria-label={`Filter ${caption}`}
          value={wanted}
          onInput={(e) => {
            wanted.value = e.currentTarget.value;
          }}
        />
      )}
      <div class="scroll">
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {columns.map((c, i) => (
                <th key={c.name} scope="col" class={numeric[i] ? 'number' : ''} aria-sort={directionOf(i)}>
                  <button type="button" onClick={() => sortBy(i)}>
                    {c.name}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first.map((row, r) => (
              <tr key={r} {...(onRow ? clickable(() => onRow(row)) : {})}>
                {columns.map((c, i) => (
                  <td key={c.name} class={c.long ? 'long' : numeric[i] ? 'number' : ''}>
                    {c.show ? c.show(row) : (c.value(row) ?? '–')}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length === 0 && <p class="note">Nothing matches.</p>}
      {shown.length > first.length && (
        <button
          type="button"
          class="more"
          onClick={() => {
            all.value = true;
          }}
        >
          {all.value ? `The first ${MOST} of ${shown.length} are shown` : `Show all ${shown.length}`}
        </button>
      )}
    </div>
  );
}

/** A row that leads somewhere, by mouse and by keyboard. */
const clickable = (go: () => void) => ({
  class: 'can-click',
  tabIndex: 0,
  onClick: go,
  onKeyDown: (e: KeyboardEvent) => {
    if (e.key === 'Enter') go();
  },
});

function filtered<Row>(rows: readonly Row[], columns: readonly Column<Row>[], text: string): readonly Row[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return rows;
  return rows.filter((row) =>
    columns.some((c) =>
      String(c.value(row) ?? '')
        .toLowerCase()
        .includes(wanted),
    ),
  );
}

function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: { column: number; down: boolean } | null,
): readonly Row[] {
  if (!order) return rows;
  const keyOf = columns[order.column]!.value;
  const sign = order.down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [keyOf(a), keyOf(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return (
      sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)))
    );
  });
}
