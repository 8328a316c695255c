import { formatTime } from '../../src/base/units.js';
import type { ComparedRun, ComparedSetup, CompareReport } from '../../src/compare/compare-report.js';
import { type Column, DataTable } from '../app/data-table.js';
import { sentenceCase } from '../app/words.js';

const differs = (s: ComparedSetup): boolean => s.before !== null && s.after !== null && s.before !== s.after;

const shownValue = (s: ComparedSetup, side: 'before' | 'after') => {
  const text = s[side] ?? 'not recorded';
  return differs(s) ? <b>{text}</b> : text;
};

const SETUP: readonly Column<ComparedSetup>[] = [
  { name: '', value: (s) => sentenceCase(s.name) },
  { name: 'Before', value: (s) => s.before, show: (s) => shownValue(s, 'before'), long: true },
  { name: 'After', value: (s) => s.after, show: (s) => shownValue(s, 'after'), long: true },
];

interface Run extends ComparedRun {
  readonly side: string;
}

const RUNS: readonly Column<Run>[] = [
  { name: 'Side', value: (r) => r.side },
  { name: 'Run', value: (r) => r.label, long: true },
  { name: 'Step', value: (r) => r.usual_ms, show: (r) => formatTime(r.usual_ms) },
  { name: 'Steps', value: (r) => r.steps },
  { name: 'Step time is', value: (r) => r.source },
];

/** What else differs between the sides, and which runs they are. */
export function DataQuality({ report }: { readonly report: CompareReport }) {
  const { setup, notes, before, after } = report;
  const runs = [
    ...before.runs.map((run) => ({ ...run, side: 'Before' })),
    ...after.runs.map((run) => ({ ...run, side: 'After' })),
  ];
  return (
    <section aria-labelledby="data-title" id="data">
      <h2 id="data-title">Data quality</h2>
      {notes.length > 0 && (
        <ul class="problems">
          {notes.map((note) => (
            <li key={note}>{sentenceCase(note)}</li>
          ))}
        </ul>
      )}
      {setup.length > 0 && (
        <>
          <h3>Set-up{setup.some(differs) && ': what differs is in bold'}</h3>
          <DataTable caption="What the sides ran on" columns={SETUP} rows={setup} />
        </>
      )}
      <h3>Runs</h3>
      <DataTable caption="Runs" columns={RUNS} rows={runs} />
    </section>
  );
}
