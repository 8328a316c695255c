import { formatCount, formatTime, ms, share } from '../../src/base/units.js';
import { TIME_CLASSES } from '../../src/facts/time-class.js';
import type { PageData } from '../../src/page/page-data.js';
import { moneyLines } from '../../src/render/money.js';
import {
  CLASS_NAMES,
  gain,
  rankCount,
  type StepPart,
  stepParts,
  stepSource,
} from '../../src/render/step-time.js';
import { Prose } from './prose.js';
import { showSection } from './show-section.js';
import { type Part, StepBar, StepLegend } from './step-bar.js';
import { addressesTime, COST_WORDS, confidenceWord, sentenceCase } from './words.js';

/** Why it is slow, in one sentence and one bar. */
export function Verdict({ page }: { page: PageData }) {
  const { report, title } = page;
  const { verdict, runs } = report;
  const isAboutLateRanks = (text: string) => report.stragglers.some((s) => s.sentence === text);
  const command = runs.find((r) => r.analyzed)?.command ?? null;
  return (
    <header class="verdict">
      <p class="brand">
        <b>whyslow</b>
        <span>{title ?? command ?? commonFolder(report.inputs.map((i) => i.path))}</span>
      </p>
      <p class={`label ${verdict.bottleneck}`}>{verdict.label}</p>
      <h1>{sentenceCase(verdict.headline)}</h1>
      {verdict.details.map((sentence) => (
        <p key={sentence} class={isAboutLateRanks(sentence) ? 'lead late' : 'lead'}>
          {sentence}
        </p>
      ))}
      <Basis page={page} />
      {report.health.grade === 'poor' && (
        <p class="honest">
          The recording is poor. Look at <b>Data quality</b> before you trust a figure.
        </p>
      )}
      {report.step.ms === null ? <NoStep page={page} /> : <Step page={page} />}
      {moneyLines(report).map((text) => (
        <p key={text} class="note">
          {sentenceCase(text)}
        </p>
      ))}
      {verdict.next.length > 0 && (
        <section class="next">
          <h2>{verdict.bottleneck === 'unknown' ? 'To get an answer' : 'Do next'}</h2>
          <ul>
            {verdict.next.map((text) => (
              <li key={text}>
                <Prose text={text} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <FirstFix page={page} />
    </header>
  );
}

/** How sure it is, and how good the recording is. */
function Basis({ page: { report } }: { page: PageData }) {
  const { verdict, health, step } = report;
  const facts = [
    rankCount(report) > 0 ? formatCount(rankCount(report), 'rank') : '',
    step.count > 0 && !step.whole_window ? formatCount(step.count, 'step') : '',
  ].filter(Boolean);
  return (
    <p class="basis">
      <span class={`pill ${confidenceWord(verdict.confidence)}`}>
        Confidence: {confidenceWord(verdict.confidence)}
      </span>
      <button type="button" class={`pill ${health.grade}`} onClick={() => showSection('data')}>
        Recording: {health.grade}
      </button>
      {verdict.second && <span class="pill">Close second: {verdict.second}</span>}
      <span class="muted">{facts.join(', ')}</span>
    </p>
  );
}

function NoStep({ page: { report } }: { page: PageData }) {
  return (
    <p class="honest">
      No complete step was recorded{report.inputs.length > 0 ? '' : ', and no file could be read'}. The step
      breakdown is therefore unknown.
    </p>
  );
}

const inMs = (parts: readonly StepPart[], whole: number): Part[] =>
  parts.map((p) => ({ name: p.name, class: p.class, ms: p.share * whole })).filter((p) => p.ms > 0);

/** Closer than this, a second bar would only repeat the first. */
const ALIKE = 0.01;

function Step({ page: { report, profiled, hasGpu } }: { page: PageData }) {
  const step = report.step.ms!;
  const parts = inMs(stepParts(report.step.ms!, report.time, report.step.parts), step);
  const recorded = report.step.profiled_ms;
  const showsProfiled = profiled !== null && recorded !== null && Math.abs(recorded / step - 1) > ALIKE;
  const width = Math.max(step, showsProfiled ? recorded : 0);
  const sum = profiled ? TIME_CLASSES.reduce((all, c) => all + profiled[c], 0) : 0;
  const recordedParts = profiled
    ? TIME_CLASSES.map((c) => ({ name: CLASS_NAMES[c], class: c, share: share(profiled[c] / sum) }))
    : [];
  return (
    <section class="step" aria-label={report.step.whole_window ? 'The recording' : 'One step'}>
      <p class="step-time">
        <span>{report.step.whole_window ? 'The recording' : 'One step'}</span> <b>{formatTime(ms(step))}</b>
      </p>
      {parts.length > 0 && <StepBar parts={parts} of={width} hasGpu={hasGpu} />}
      {showsProfiled && sum > 0 && (
        <>
          <StepBar parts={inMs(recordedParts, recorded)} of={width} hasGpu={hasGpu} slim />
          <p class="note">Thin bar: as recorded. {stepSource(report)}</p>
        </>
      )}
      {!showsProfiled && stepSource(report) && <p class="note">{stepSource(report)}</p>}
      {parts.length > 0 ? (
        <StepLegend parts={parts} step={step} hasGpu={hasGpu} />
      ) : (
        <p class="honest">The files do not show the step breakdown.</p>
      )}
    </section>
  );
}

/** What to do first, next to the answer: the change itself. The finding below has its code and its evidence. */
function FirstFix({ page: { report } }: { page: PageData }) {
  const first = report.findings.find(addressesTime);
  if (!first || report.step.ms === null) return null;
  return (
    <button type="button" class="first-fix" onClick={() => showSection(`finding-${first.id}`)}>
      <span class="eyebrow">Change first · {COST_WORDS[first.cost]}</span>
      <b>{firstSentence(first.fix.text)}</b>
      <span class={first.speedup ? 'gain' : 'gain unknown'}>{gain(first.speedup, report.step.ms)}</span>
      <span class="muted">{sentenceCase(first.title)}. See the fix below.</span>
    </button>
  );
}

const firstSentence = (text: string) => /^.*?[.!?](?= |$)/s.exec(text)?.[0] ?? text;

/** The folder that all files are in; the file itself if there is only one. */
function commonFolder(paths: readonly string[]): string {
  const [first = '', ...others] = paths;
  const parts = first.split('/');
  const same = parts.filter((_, i) =>
    others.every((p) => p.startsWith(`${parts.slice(0, i + 1).join('/')}/`) || p === first),
  );
  return same.join('/');
}
