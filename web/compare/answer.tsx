import { formatCount, formatTime } from '../../src/base/units.js';
import type { ComparedSide, CompareReport } from '../../src/compare/compare-report.js';
import { sentenceCase } from '../app/words.js';

const LABELS = {
  faster: 'Faster',
  slower: 'Slower',
  same: 'No difference',
  'cannot-tell': 'Inconclusive',
} as const;

/** The sentence, and the two step times that it is about. */
export function Answer({ report }: { readonly report: CompareReport }) {
  const { verdict, sentence, step, before, after } = report;
  const [headline = '', ...rest] = sentence.split('; ');
  return (
    <header class="verdict">
      <p class="brand">
        <b>whyslow</b>
        <span>
          {labelOf(before)} → {labelOf(after)}
        </span>
      </p>
      <p class={`label ${verdict}`}>{LABELS[verdict]}</p>
      <h1>{headline}</h1>
      {rest.map((text) => (
        <p key={text} class="lead">
          {sentenceCase(text)}
        </p>
      ))}
      <p class="step-times">
        <span class="muted">One step</span> <b>{formatTime(step.before_ms)}</b>
        <span class="muted">→</span> <b>{formatTime(step.after_ms)}</b>
      </p>
      <p class="basis">
        <span class="muted">Before: {sideText(before)}</span>
        <span class="muted">After: {sideText(after)}</span>
      </p>
    </header>
  );
}

const labelOf = ({ runs }: ComparedSide): string =>
  runs.length === 1 ? runs[0]!.label : formatCount(runs.length, 'run');

function sideText({ runs, bottleneck }: ComparedSide): string {
  const steps = runs.reduce((sum, run) => sum + run.steps, 0);
  const sources = [...new Set(runs.map((run) => run.source))].join(' and ');
  const figures = [formatCount(runs.length, 'run'), ...(steps > 0 ? [formatCount(steps, 'step')] : [])];
  return `${figures.join(', ')}, ${sources}; bottleneck ${bottleneck}`;
}
