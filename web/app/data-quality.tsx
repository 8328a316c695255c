import { formatRanks } from '../../src/base/rank-ranges.js';
import { bytes, formatBytes, formatNumber } from '../../src/base/units.js';
import type { PageData } from '../../src/page/page-data.js';
import type { ReportInput } from '../../src/report/report.js';
import { type Column, DataTable } from './data-table.js';

const GRADES = {
  good: 'The recording is good: nothing found that would distort the figures.',
  usable: 'The recording is usable: some figures are affected by what is listed here.',
  poor: 'The recording is poor. Check what is listed here before you trust any figure.',
} as const;

const COLUMNS: readonly Column<ReportInput>[] = [
  { name: 'File', value: (f) => f.path, long: true },
  { name: 'Kind', value: (f) => f.kind },
  { name: 'Rank', value: (f) => f.rank },
  { name: 'Size', value: (f) => f.bytes, show: (f) => formatBytes(bytes(f.bytes)) },
  { name: 'Events', value: (f) => f.events, show: (f) => formatNumber(f.events) },
];

/** How good the files behind the answer are, and which ones they are. */
export function DataQuality({ page: { report } }: { page: PageData }) {
  const { health, inputs, ignored, silent, runs } = report;
  return (
    <section aria-labelledby="data-title" id="data">
      <h2 id="data-title">Data quality</h2>
      <p class={health.grade === 'poor' ? 'honest' : ''}>{GRADES[health.grade]}</p>
      {health.problems.length > 0 && (
        <ul class="problems">
          {health.problems.map((p) => (
            <li key={p.code} class={p.severity}>
              <b>{p.message}</b>
              {p.count > 1 && ` (${formatNumber(p.count)} times)`}
              {p.ranks.length > 0 && report.ranks.length > 1 && ` on ranks ${formatRanks(p.ranks)}`}:{' '}
              {p.consequence}
            </li>
          ))}
        </ul>
      )}
      {runs.length > 1 && (
        <>
          <p>These files are of several runs. This page is about the one in bold; --run chooses another.</p>
          <ul class="problems">
            {runs.map((r) => (
              <li key={r.id}>
                {r.analyzed ? <b>{r.id}</b> : r.id} {r.started?.slice(0, 19).replace('T', ' ')} {r.command}
              </li>
            ))}
          </ul>
        </>
      )}
      <details>
        <summary>Files that were read ({inputs.length})</summary>
        <DataTable caption="Files" columns={COLUMNS} rows={inputs} />
        {ignored.length > 0 && <p class="note">Not used: {ignored.slice(0, 20).join(', ')}</p>}
      </details>
      {silent.length > 0 && (
        <details>
          <summary>Rules that found nothing ({silent.length})</summary>
          <table class="legend">
            <caption class="unseen">Rules that found nothing, and why</caption>
            <tbody>
              {silent.map((s) => (
                <tr key={s.rule}>
                  <th scope="row">{s.rule}</th>
                  <td class="meaning">{s.reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </section>
  );
}
