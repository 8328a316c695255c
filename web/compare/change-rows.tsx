import { largest } from '../../src/base/statistics.js';
import type { TimeRow } from '../../src/render/compare-rows.js';
import { classColor, sentenceCase } from '../app/words.js';

interface ChangeRowsProps {
  readonly heading: string;
  readonly rows: readonly TimeRow[];
  /** ms that half the width of a bar stands for. */
  readonly most: number;
}

const sizeOf = (row: TimeRow): number => Math.abs(row.delta ?? 0);

export const mostOf = (rows: readonly TimeRow[]): number => largest([...rows.map(sizeOf), 0]);

/** Times of both sides and a bar for the difference: to the left is faster. Largest difference first. */
export function ChangeRows({ heading, rows, most }: ChangeRowsProps) {
  return (
    <div class="scroll">
      <table class="changes">
        <thead>
          <tr>
            <th scope="col">{heading}</th>
            {['Before', 'After', 'Difference'].map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
            <td class="bar" />
          </tr>
        </thead>
        <tbody>
          {rows
            .toSorted((a, b) => sizeOf(b) - sizeOf(a))
            .map((row) => (
              <tr key={row.name}>
                <th scope="row">
                  {row.class && <i class="swatch" style={{ background: `var(${classColor(row.class)})` }} />}
                  {row.class ? sentenceCase(row.name) : <code>{row.name}</code>}
                </th>
                <td class="number">{row.before}</td>
                <td class="number">{row.after}</td>
                <td class="number">{row.difference}</td>
                <td class="bar">
                  <DeltaBar delta={row.delta} most={most} />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

/** Nothing for a difference that is not known. */
export function DeltaBar({ delta, most }: { readonly delta: number | null; readonly most: number }) {
  if (delta === null || !(most > 0)) return null;
  const width = (50 * Math.abs(delta)) / most;
  return (
    <div class="delta" aria-hidden="true">
      <i
        class={delta < 0 ? 'faster' : 'slower'}
        style={{ width: `${width}%`, left: `${delta < 0 ? 50 - width : 50}%` }}
      />
    </div>
  );
}
