import { namedRanks } from '../../src/base/rank-ranges.js';
import { formatTime, type Ms, ms } from '../../src/base/units.js';
import type { PageData } from '../../src/page/page-data.js';
import { savedPerDay } from '../../src/render/money.js';
import { gain, noFix, rankCount } from '../../src/render/step-time.js';
import type { Evidence, Finding } from '../../src/rules/kit/finding.js';
import { CopyButton } from './copy-button.js';
import { GainBar } from './gain-bar.js';
import type { Navigator } from './navigator.js';
import { Prose } from './prose.js';
import { slowestStep } from './table-rows.js';
import { CHECKS, COST_WORDS, sentenceCase } from './words.js';

interface FindingsProps {
  readonly page: PageData;
  readonly navigator: Navigator;
}

/** Shown in full at once. The others open on a click. */
const OPEN = 3;

export function Findings({ page, navigator }: FindingsProps) {
  const { findings, verdict } = page.report;
  // The verdict already has what to do.
  if (findings.length === 0 && verdict.bottleneck !== 'unknown' && verdict.next.length > 0) return null;
  return (
    <section aria-labelledby="findings-title">
      <h2 id="findings-title">What to change</h2>
      {findings.length === 0 && (
        <p>
          {verdict.bottleneck === 'unknown'
            ? 'Without a verdict there is nothing to recommend.'
            : noFix(page.report)}
        </p>
      )}
      <ol class="findings">
        {findings.map((finding, i) => (
          <li key={finding.id}>
            <FindingCard page={page} finding={finding} open={i < OPEN} navigator={navigator} />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface CardProps extends FindingsProps {
  readonly finding: Finding;
  readonly open: boolean;
}

function FindingCard({ page, finding, open, navigator }: CardProps) {
  const { step } = page.report;
  const onSome = finding.ranks.length > 0 && finding.ranks.length < rankCount(page.report);
  return (
    <details id={`finding-${finding.id}`} class="finding" open={open}>
      <summary>
        <h3>{sentenceCase(finding.title)}</h3>
        <span class={finding.speedup ? 'gain' : 'gain unknown'}>
          {finding.addresses === null
            ? ''
            : [gain(finding.speedup, step.ms), savedPerDay(page.report, finding.id)]
                .filter(Boolean)
                .join(', ')}
        </span>
      </summary>
      {finding.speedup && step.ms !== null && <GainBar now={step.ms} speedup={finding.speedup} />}
      <p class="facts">
        {COST_WORDS[finding.cost]}
        {onSome && ` · ${namedRanks(finding.ranks)}`} · rule {finding.rule}
      </p>
      <ul class="evidence">
        {finding.evidence.map((e) => (
          <li key={e.text}>
            <Prose text={e.text} />{' '}
            <PlaceChip evidence={e} finding={finding} page={page} navigator={navigator} />
          </li>
        ))}
      </ul>
      <div class="fix">
        {finding.fix.code && (
          <div class="code">
            <pre>
              <code>{finding.fix.code}</code>
            </pre>
            <CopyButton text={finding.fix.code} />
          </div>
        )}
        {finding.fix.text && (
          <p>
            <Prose text={finding.fix.text} />
          </p>
        )}
      </div>
      {finding.further && <FurtherFix further={finding.further} now={step.ms} />}
      {finding.addresses !== null && (
        <p class="check">
          <b>Is the result still right?</b> {CHECKS[finding.risk]}
          {finding.speedup && step.ms !== null && (
            <>
              {' '}
              Then measure again: a step should take {formatTime(ms(step.ms / finding.speedup.high))} to{' '}
              {formatTime(ms(step.ms / finding.speedup.low))}.
            </>
          )}
        </p>
      )}
    </details>
  );
}

/** The second level of a fix. */
function FurtherFix({ further, now }: { further: NonNullable<Finding['further']>; now: Ms | null }) {
  return (
    <div class="fix">
      <p>
        <b>A step further:</b> {further.title}, {gain(further.speedup, now)} in all
      </p>
      {further.fix.code && (
        <div class="code">
          <pre>
            <code>{further.fix.code}</code>
          </pre>
          <CopyButton text={further.fix.code} />
        </div>
      )}
    </div>
  );
}

interface ChipProps extends FindingsProps {
  readonly evidence: Evidence;
  readonly finding: Finding;
}

/** Jumps to the place that the evidence is about. Where only the rank is known: to its slowest step. */
function PlaceChip({ evidence, finding, page, navigator }: ChipProps) {
  const several = page.report.ranks.length > 1;
  const [only, ...others] = finding.ranks;
  const rank = evidence.rank ?? (others.length === 0 ? only : undefined);
  const { step, ts_ns: ts, dur_ns: dur } = evidence;
  if (rank === undefined || (!several && step === null && ts === null)) return null;
  const slowest = step === null && ts === null ? slowestStep(page.rankSteps, rank) : step;
  const words = [several ? `rank ${rank}` : '', slowest === null ? '' : `step ${slowest}`].filter(Boolean);
  return (
    <button
      type="button"
      class="chip"
      onClick={() => navigator.show({ rank, step: slowest, ts, dur, label: evidence.text })}
    >
      Show {words.join(', ') || 'it'}
    </button>
  );
}
