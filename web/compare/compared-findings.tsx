import { largest, smallest } from '../../src/base/statistics.js';
import type { CompareReport } from '../../src/compare/compare-report.js';
import { rangeText } from '../../src/render/compare-rows.js';
import type { Speedup } from '../../src/rules/kit/finding.js';
import { Prose } from '../app/prose.js';
import { sentenceCase } from '../app/words.js';

/** The scale reaches at least this speedup. */
const LEAST_END = 1.05;

/** Findings that are gone, with their predicted and measured gain, and new ones. */
export function ComparedFindings({ report }: { readonly report: CompareReport }) {
  const { gone, new: fresh, predicted, together } = report.findings;
  if (gone.length + fresh.length === 0) return null;
  const measured = predicted.some((p) => p.measured !== null) || together ? report.step.speedup : null;
  const drawn = [
    ...predicted.map((p) => p.speedup),
    ...fresh.flatMap((f) => f.speedup ?? []),
    ...(together ? [exactly(together.predicted)] : []),
    ...(measured ? [measured] : []),
  ];
  const ends = [
    smallest([...drawn.map((s) => s.low), 1]),
    largest([...drawn.map((s) => s.high), LEAST_END]),
  ] as const;
  return (
    <section aria-labelledby="findings-title" id="findings">
      <h2 id="findings-title">Findings</h2>
      {gone.length > 0 && <h3>Gone</h3>}
      <ul class="outcomes">
        {gone.map((finding) => {
          const promise = predicted.find((p) => p.id === finding.id);
          return (
            <li key={finding.id}>
              <p>
                <Prose text={sentenceCase(finding.title)} /> <span class="facts">rule {finding.rule}</span>
              </p>
              {promise && <Scale name="predicted" speedup={promise.speedup} ends={ends} />}
              {promise?.measured != null && measured && (
                <Scale name="measured" speedup={measured} ends={ends} />
              )}
            </li>
          );
        })}
        {together && measured && (
          <li>
            <p>
              <b>All of them together</b>
            </p>
            <Scale name="predicted" speedup={exactly(together.predicted)} ends={ends} />
            <Scale name="measured" speedup={measured} ends={ends} />
          </li>
        )}
      </ul>
      {fresh.length > 0 && <h3>New</h3>}
      <ul class="outcomes">
        {fresh.map((finding) => (
          <li key={finding.id}>
            <p>
              <Prose text={sentenceCase(finding.title)} /> <span class="facts">rule {finding.rule}</span>
            </p>
            {finding.speedup && (
              <Scale name="predicted gain of a fix" speedup={finding.speedup} ends={ends} />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

const exactly = (likely: number): Speedup => ({ low: likely, likely, high: likely });

interface ScaleProps {
  readonly name: string;
  readonly speedup: Speedup;
  readonly ends: readonly [low: number, high: number];
}

/** A speedup and its range. Equal factors are equally wide. */
function Scale({ name, speedup, ends: [low, high] }: ScaleProps) {
  const at = (s: number) => `${(100 * Math.log(s / low)) / Math.log(high / low)}%`;
  return (
    <div class={name === 'measured' ? 'scale measured' : 'scale'}>
      <span class="eyebrow">{sentenceCase(name)}</span>
      <div class="track" aria-hidden="true">
        {low < 1 && <i class="zero" style={{ left: at(1) }} />}
        <i
          class="range"
          style={{ left: at(speedup.low), width: `calc(${at(speedup.high)} - ${at(speedup.low)})` }}
        />
        <i class="likely" style={{ left: at(speedup.likely) }} />
      </div>
      <span class="number">{rangeText(speedup)}</span>
    </div>
  );
}
