import type { ChangedWork, CompareReport } from '../../src/compare/compare-report.js';
import { type WorkRow, workRow } from '../../src/render/compare-rows.js';
import { type Column, DataTable } from '../app/data-table.js';
import { sentenceCase } from '../app/words.js';
import { DeltaBar, mostOf } from './change-rows.js';

/** Kernels and host calls that came, went or changed, largest first. */
export function ChangedWorks({ report }: { readonly report: CompareReport }) {
  const { kernels, operators } = report;
  if (kernels.length + operators.length === 0) return null;
  return (
    <section aria-labelledby="works-title" id="works">
      <h2 id="works-title">Kernels and host calls</h2>
      <Works caption="Kernels" works={kernels} />
      <Works caption="Host calls, by their own time under the profiler" works={operators} />
    </section>
  );
}

const nameOf = (w: WorkRow) => (
  <code title={w.fullName}>
    {w.name}
    {w.grid}
  </code>
);

function Works({ caption, works }: { readonly caption: string; readonly works: readonly ChangedWork[] }) {
  if (works.length === 0) return null;
  const rows = works.map(workRow);
  const most = mostOf(rows);
  const columns: readonly Column<WorkRow>[] = [
    { name: 'Name', value: (w) => w.name + w.grid, show: nameOf, long: true },
    { name: 'Difference', value: (w) => w.delta, show: (w) => w.difference },
    { name: 'What changed', value: (w) => sentenceCase(w.change) },
    { name: 'Before', value: (w) => w.beforeMs, show: (w) => w.before },
    { name: 'After', value: (w) => w.afterMs, show: (w) => w.after },
    { name: '', value: () => null, show: (w) => <DeltaBar delta={w.delta} most={most} /> },
  ];
  return (
    <>
      <h3>{caption}</h3>
      <DataTable caption={caption} columns={columns} rows={rows} />
    </>
  );
}
