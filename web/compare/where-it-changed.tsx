import type { CompareReport } from '../../src/compare/compare-report.js';
import { lineRows, phaseRows, timeRows } from '../../src/render/compare-rows.js';
import { CLASS_NAMES } from '../../src/render/step-time.js';
import { StepBar } from '../app/step-bar.js';
import { ChangeRows, mostOf } from './change-rows.js';

/** Classes of time, phases and lines of the job, on one scale. */
export function WhereItChanged({ report }: { readonly report: CompareReport }) {
  const [classes, phases, lines] = [timeRows(report), phaseRows(report), lineRows(report)];
  if (classes.length + phases.length + lines.length === 0) return null;
  const most = mostOf([...classes, ...phases, ...lines]);
  return (
    <section aria-labelledby="where-title" id="where">
      <h2 id="where-title">Where it changed</h2>
      <Steps report={report} />
      {classes.length > 0 && <ChangeRows heading="By kind of time" rows={classes} most={most} />}
      {phases.length > 0 && <ChangeRows heading="By phase" rows={phases} most={most} />}
      {lines.length > 0 && (
        <ChangeRows heading="By line of the job, on the training thread" rows={lines} most={most} />
      )}
    </section>
  );
}

/** One bar for each side, on one scale. */
function Steps({ report: { time, step } }: { readonly report: CompareReport }) {
  const sides = [
    {
      name: 'Before',
      parts: time.map((t) => ({ name: CLASS_NAMES[t.class], class: t.class, ms: t.before_ms })),
    },
    {
      name: 'After',
      parts: time.map((t) => ({ name: CLASS_NAMES[t.class], class: t.class, ms: t.after_ms })),
    },
  ];
  const of = Math.max(
    step.before_ms,
    step.after_ms,
    ...sides.map(({ parts }) => parts.reduce((sum, p) => sum + p.ms, 0)),
  );
  return (
    <div class="two-steps">
      {sides.map(({ name, parts }) => (
        <div key={name}>
          <p class="eyebrow">{name}</p>
          <StepBar parts={parts.filter((p) => p.ms > 0)} of={of} hasGpu={null} />
        </div>
      ))}
    </div>
  );
}
