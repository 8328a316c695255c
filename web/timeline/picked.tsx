import { CLASS_NAMES, sumOfClasses, TIME_CLASSES } from '../../src/facts/time-class.js';
import type { Controller } from './controller.js';
import { formatNs } from './names.js';
import type { Picked } from './selection.js';
import type { RangeTotals } from './source.js';

/** What is selected, as text and tables. */
export function PickedPanel({ controller }: { readonly controller: Controller }) {
  const picked = controller.selection.picked.value;
  return (
    <div class="tl-picked" aria-live="polite">
      {picked === null && (
        <>
          <p class="tl-empty">Click a slice for details. Drag over a range, or click a step, for totals.</p>
          <Legend ranks={controller.shown.ranks.value.length} />
        </>
      )}
      {picked?.kind === 'slice' && <SlicePanel picked={picked} controller={controller} />}
      {picked?.kind === 'range' && <RangePanel picked={picked} />}
    </div>
  );
}

/** What the colors of the first row mean. */
const Legend = ({ ranks }: { readonly ranks: number }) => (
  <ul class="tl-legend">
    {TIME_CLASSES.map((c) => (
      <li key={c}>
        <i class={`tl-swatch tl-${c.replaceAll('_', '-')}`} />
        {CLASS_NAMES[c]}
      </li>
    ))}
    {ranks > 1 && (
      <>
        <li>
          <i class="tl-swatch tl-path" />
          critical path
        </li>
        <li>
          <i class="tl-swatch tl-late" />
          from the rank that came last to those that waited
        </li>
      </>
    )}
  </ul>
);

interface SlicePanelProps {
  readonly picked: Extract<Picked, { kind: 'slice' }>;
  readonly controller: Controller;
}

function SlicePanel({ picked: { detail }, controller }: SlicePanelProps) {
  const track = controller.scene.lanes.find((l) => l.line.rank === detail.rank && l.track === detail.track);
  return (
    <>
      <h3 class="tl-name">{detail.name}</h3>
      <dl class="tl-fields">
        <Field label="Duration" value={formatNs(detail.end - detail.start)} />
        <Field label="Start" value={`${(detail.start / 1e6).toFixed(3)} ms`} />
        <Field label="Where" value={`rank ${detail.rank}, ${track?.title ?? 'another track'}`} />
        {detail.fields.map(([label, value]) => (
          <Field key={label} label={label} value={value} />
        ))}
      </dl>
      {detail.related.length > 0 && (
        <ul class="tl-related">
          {detail.related.map((other) => (
            <li key={`${other.label} ${other.track} ${other.row} ${other.index}`}>
              {other.label}{' '}
              <button type="button" onClick={() => controller.selection.reveal(other)}>
                {other.name}
              </button>{' '}
              {other.label === 'Launched by'
                ? `${formatNs(detail.start - other.start)} before`
                : `${formatNs(other.start - detail.start)} later`}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const Field = ({ label, value }: { readonly label: string; readonly value: string }) => (
  <div>
    <dt>{label}</dt>
    <dd>{value}</dd>
  </div>
);

function RangePanel({ picked: { range, totals } }: { readonly picked: Extract<Picked, { kind: 'range' }> }) {
  const used = TIME_CLASSES.filter((c) => totals.some((t) => t.time[c] > 0));
  return (
    <>
      <h3>
        {range.label ?? 'Selected range'}: {formatNs(range.to - range.from)}
      </h3>
      <div class="tl-tables">
        <table class="tl-classes">
          <caption>Time by class</caption>
          <thead>
            <tr>
              <th scope="col">Class</th>
              {totals.map((t) => (
                <th scope="col" class="num" key={t.rank}>
                  Rank {t.rank}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {used.map((c) => (
              <tr key={c}>
                <th scope="row">
                  <i class={`tl-swatch tl-${c.replaceAll('_', '-')}`} />
                  {CLASS_NAMES[c]}
                </th>
                {totals.map((t) => (
                  <td class="num" key={t.rank}>
                    {formatNs(t.time[c])} <small>{percent(t, t.time[c])}</small>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {totals.map((t) => (
          <Kernels key={t.rank} totals={t} />
        ))}
      </div>
    </>
  );
}

const percent = ({ time }: RangeTotals, part: number) => {
  const sum = sumOfClasses(time);
  return sum > 0 ? `${((100 * part) / sum).toFixed(part / sum < 0.1 ? 1 : 0)}%` : '';
};

function Kernels({ totals }: { readonly totals: RangeTotals }) {
  const { rank, kernels, moreKernels, summarized } = totals;
  if (kernels.length === 0) return null;
  return (
    <table class="tl-kernels">
      <caption>
        GPU work, rank {rank}
        {summarized && ' (short kernels are counted under the name of their neighbors)'}
      </caption>
      <thead>
        <tr>
          <th scope="col">Kernel</th>
          <th scope="col" class="num">
            Count
          </th>
          <th scope="col" class="num">
            Time
          </th>
        </tr>
      </thead>
      <tbody>
        {kernels.map((k) => (
          <tr key={k.name}>
            <td class="tl-kernel">{k.name}</td>
            <td class="num">{k.count}</td>
            <td class="num">{formatNs(k.time)}</td>
          </tr>
        ))}
        {moreKernels > 0 && (
          <tr>
            <td colSpan={3}>and {moreKernels} more</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
