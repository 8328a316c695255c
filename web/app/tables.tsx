import {
  bytes,
  formatBytes,
  formatNumber,
  formatTime,
  formatWholePercent,
  ms,
  share,
} from '../../src/base/units.js';
import type { CollectiveRow, KernelRow, OperatorRow, PageData } from '../../src/page/page-data.js';
import { rankCount } from '../../src/render/step-time.js';
import { type Column, DataTable } from './data-table.js';
import type { Navigator } from './navigator.js';
import {
  type AxisRow,
  axisRows,
  groupedKernels,
  type KernelGroup,
  type RankRow,
  rankRows,
  type StepRow,
  stepRows,
} from './table-rows.js';

const time = (value: number) => formatTime(ms(value));
const count = (n: number) => (n >= 100 || Number.isInteger(n) ? formatNumber(Math.round(n)) : n.toFixed(1));

const GROUPS: readonly Column<KernelGroup>[] = [
  { name: 'Group', value: (g) => g.group },
  { name: 'Time per step', value: (g) => g.ms, show: (g) => time(g.ms) },
  { name: 'Share', value: (g) => g.share, show: (g) => formatWholePercent(share(g.share)) },
  { name: 'Launches per step', value: (g) => g.count, show: (g) => count(g.count) },
];
const KERNELS: readonly Column<KernelRow>[] = [
  { name: 'Kernel', value: (k) => k.name, show: (k) => <code>{k.name}</code>, long: true },
  // Before the words: on a phone only the first columns are visible.
  { name: 'Time per step', value: (k) => k.ms, show: (k) => time(k.ms) },
  { name: 'Launches per step', value: (k) => k.count, show: (k) => count(k.count) },
  { name: 'Time each', value: (k) => k.ms / k.count, show: (k) => time(k.ms / k.count) },
  { name: 'Group', value: (k) => k.group },
  { name: 'Precision', value: (k) => k.precision },
];
const OPERATORS: readonly Column<OperatorRow>[] = [
  { name: 'Operator', value: (o) => o.name, show: (o) => <code>{o.name}</code>, long: true },
  { name: 'Self time', value: (o) => o.selfMs, show: (o) => time(o.selfMs) },
  { name: 'Total time', value: (o) => o.ms, show: (o) => time(o.ms) },
  { name: 'Calls per step', value: (o) => o.count, show: (o) => count(o.count) },
];
const COLLECTIVES: readonly Column<CollectiveRow>[] = [
  { name: 'Group', value: (c) => c.group },
  { name: 'Collective', value: (c) => c.kind.replaceAll('_', '-') },
  {
    name: 'Size',
    value: (c) => c.fromBytes,
    show: (c) => (c.fromBytes === null ? '–' : `from ${formatBytes(bytes(c.fromBytes))}`),
  },
  { name: 'Count', value: (c) => c.instances },
  { name: 'Time each', value: (c) => c.ms, show: (c) => time(c.ms) },
  {
    name: 'Bus bandwidth',
    value: (c) => c.gbPerSecond,
    show: (c) => (c.gbPerSecond === null ? '–' : `${c.gbPerSecond.toPrecision(3)} GB/s`),
  },
];
const RANKS: readonly Column<RankRow>[] = [
  { name: 'Rank', value: (r) => r.rank },
  { name: 'Host', value: (r) => r.host },
  { name: 'Mesh', value: (r) => r.mesh },
  { name: 'Step', value: (r) => r.stepMs, show: (r) => (r.stepMs === null ? '–' : time(r.stepMs)) },
  { name: 'Mostly', value: (r) => r.mostly },
  { name: 'Late', value: (r) => r.late },
];
const AXES: readonly Column<AxisRow>[] = [
  { name: 'By', value: (a) => a.axis },
  { name: 'Value', value: (a) => a.value },
  { name: 'Ranks', value: (a) => a.ranks },
  { name: 'Late on average', value: (a) => a.lateMs, show: (a) => time(a.lateMs) },
  { name: 'Mostly', value: (a) => a.mostly },
];
const STEPS: readonly Column<StepRow>[] = [
  { name: 'Step', value: (s) => s.step },
  { name: 'Mean of ranks', value: (s) => s.mean, show: (s) => time(s.mean) },
  { name: 'Slowest rank', value: (s) => s.slowest },
  { name: 'Its time', value: (s) => s.longest, show: (s) => time(s.longest) },
];

/** What people look up: kernels, operators, collectives, steps, ranks. */
export function Tables({ page, navigator }: { page: PageData; navigator: Navigator }) {
  const { view } = navigator;
  const several = page.report.ranks.length > 1;
  const ofRank =
    several && page.decisiveRank !== null ? ` of rank ${page.decisiveRank}, which sets the pace` : '';
  const tabs = [
    {
      id: 'kernels',
      name: 'Kernels',
      rows: page.kernels.length,
      body: () => (
        <>
          <p class="note">Kernels and copies{ofRank}. As recorded, so kernels that overlap count twice.</p>
          <DataTable caption="Kernels by group" columns={GROUPS} rows={groupedKernels(page.kernels)} />
          <DataTable
            caption="Kernels"
            columns={KERNELS}
            rows={page.kernels}
            onRow={(k) =>
              navigator.show({ rank: page.decisiveRank!, ts: k.longestTs, dur: k.longestNs, label: k.name })
            }
          />
        </>
      ),
    },
    {
      id: 'operators',
      name: 'Operators',
      rows: page.operators.length,
      body: () => (
        <>
          <p class="note">
            Host time per step{ofRank}, as recorded: the profiler makes operators slower. Total time includes
            the operators it calls.
          </p>
          <DataTable caption="Operators" columns={OPERATORS} rows={page.operators} />
        </>
      ),
    },
    {
      id: 'collectives',
      name: 'Collectives',
      rows: page.collectives.length,
      body: () => (
        <>
          <p class="note">
            {page.collectives.every((c) => c.withoutWaiting)
              ? 'Transfer times without waiting for late ranks. Sizes within a factor of four are counted together.'
              : 'Only one rank is known, so times include waiting for others, and there is no bandwidth.'}
          </p>
          <DataTable caption="Collectives" columns={COLLECTIVES} rows={page.collectives} />
        </>
      ),
    },
    {
      id: 'ranks',
      name: 'Ranks',
      rows: several ? page.report.ranks.length : 0,
      body: () => (
        <>
          {page.report.many_ranks && (
            <p class="note">
              {formatNumber(page.report.ranks.length)} of {formatNumber(rankCount(page.report))} ranks: those
              that are named above, and those least like the others. The heat map shows all.
            </p>
          )}
          <DataTable
            caption="Ranks"
            columns={RANKS}
            rows={rankRows(page)}
            onRow={(r) => navigator.show({ rank: r.rank })}
          />
        </>
      ),
    },
    {
      id: 'axes',
      name: 'Hosts and axes',
      rows: axisRows(page).length,
      body: () => <DataTable caption="Hosts and axes" columns={AXES} rows={axisRows(page)} />,
    },
    {
      id: 'steps',
      name: 'Steps',
      rows: page.rankSteps?.steps.length ?? 0,
      body: () => (
        <DataTable
          caption="Steps"
          columns={several ? STEPS : STEPS.slice(0, 2).map((c, i) => (i === 1 ? { ...c, name: 'Time' } : c))}
          rows={stepRows(page)}
          onRow={(s) => navigator.show({ rank: s.slowest, step: s.step })}
        />
      ),
    },
  ].filter((tab) => tab.rows > 0);
  const open = tabs.find((tab) => tab.id === view.value.tab) ?? tabs[0];
  if (!open) return null;
  const select = (id: string) => {
    view.value = { ...view.value, tab: id };
  };
  /** Arrow keys, Home and End, as a tab list promises. */
  const onKeyDown = (event: KeyboardEvent) => {
    const next = tabAfter(event.key, tabs.indexOf(open), tabs.length);
    if (next === null) return;
    event.preventDefault();
    select(tabs[next]!.id);
    document.getElementById(`tab-${tabs[next]!.id}`)?.focus();
  };
  return (
    <section aria-labelledby="tables-title" id="tables">
      <h2 id="tables-title">Tables</h2>
      <div class="tabs" role="tablist" aria-labelledby="tables-title" onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`tab-${tab.id}`}
            aria-selected={tab === open}
            aria-controls="tab-body"
            tabIndex={tab === open ? 0 : -1}
            onClick={() => select(tab.id)}
          >
            {tab.name} <span class="muted">{tab.rows}</span>
          </button>
        ))}
      </div>
      <div id="tab-body" role="tabpanel" aria-labelledby={`tab-${open.id}`}>
        {open.body()}
      </div>
    </section>
  );
}

/** The tab that a key leads to from tab `at`, around the ends. Null: not a key for tabs. */
export function tabAfter(key: string, at: number, count: number): number | null {
  if (key === 'ArrowRight') return (at + 1) % count;
  if (key === 'ArrowLeft') return (at + count - 1) % count;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : null;
}
