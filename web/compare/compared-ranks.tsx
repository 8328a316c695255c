import { largest } from '../../src/base/statistics.js';
import { formatTime, type Ms, ms } from '../../src/base/units.js';
import type { CompareReport } from '../../src/compare/compare-report.js';
import { rankRows } from '../../src/render/compare-rows.js';
import { type Column, DataTable } from '../app/data-table.js';
import { signedPercent } from './numbers.js';

type RankChange = CompareReport['ranks'][number];

const changeOf = (r: RankChange): number => r.after_ms / r.before_ms - 1;

const COLUMNS: readonly Column<RankChange>[] = [
  { name: 'Rank', value: (r) => r.rank },
  { name: 'Before', value: (r) => r.before_ms, show: (r) => formatTime(r.before_ms) },
  { name: 'After', value: (r) => r.after_ms, show: (r) => formatTime(r.after_ms) },
  { name: 'Change', value: changeOf, show: (r) => signedPercent(changeOf(r)) },
];
/** Smaller changes are pale. */
const LEAST_REACH = 0.05;
/** Cells of more ranks are too narrow for their numbers. */
const LABELED = 64;

/** The step of each rank: a cell for each, and the same as a table. */
export function ComparedRanks({ report }: { readonly report: CompareReport }) {
  const { ranks } = report;
  if (ranks.length === 0) return null;
  const reach = largest([...ranks.map((r) => Math.abs(changeOf(r))), LEAST_REACH]);
  const others = rankRows(report).length;
  const mean = (of: (r: RankChange) => Ms) =>
    formatTime(ms(ranks.reduce((sum, r) => sum + of(r), 0) / ranks.length));
  return (
    <section aria-labelledby="ranks-title" id="ranks">
      <h2 id="ranks-title">Rank by rank</h2>
      <p>
        {others === 0
          ? `All ${ranks.length} ranks changed alike.`
          : `${others} of ${ranks.length} ranks changed otherwise than the step did.`}{' '}
        <span class="muted">
          Mean of the ranks: {mean((r) => r.before_ms)} → {mean((r) => r.after_ms)}.
        </span>
      </p>
      <div class="rank-strip" aria-hidden="true">
        {ranks.map((r) => {
          const much = Math.abs(changeOf(r)) / reach;
          return (
            <i
              key={r.rank}
              class={`${changeOf(r) < 0 ? 'faster' : 'slower'} ${much > 0.5 ? 'deep' : ''}`}
              title={`rank ${r.rank}: ${formatTime(r.before_ms)} → ${formatTime(r.after_ms)} (${signedPercent(changeOf(r))})`}
              style={{ '--much': `${Math.round(100 * much)}%` }}
            >
              {ranks.length <= LABELED && r.rank}
            </i>
          );
        })}
      </div>
      <p class="columns">
        {ranks.some((r) => changeOf(r) < 0) && (
          <span class="key faster">faster, full color: {signedPercent(-reach)}</span>
        )}
        {ranks.some((r) => changeOf(r) > 0) && (
          <span class="key slower">slower, full color: {signedPercent(reach)}</span>
        )}
      </p>
      <details>
        <summary>All ranks ({ranks.length})</summary>
        <DataTable caption="Ranks" columns={COLUMNS} rows={ranks} />
      </details>
    </section>
  );
}
