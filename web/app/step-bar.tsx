import { formatInScale, formatTime, formatWholePercent, ms, share, timeScale } from '../../src/base/units.js';
import type { TimeClass } from '../../src/facts/time-class.js';
import { classColor, classMeaning, PALE, sentenceCase } from './words.js';

export interface Part {
  readonly name: string;
  /** Null: a part with a name of its own, such as checkpoints. */
  readonly class: TimeClass | null;
  readonly ms: number;
}

/** Smaller parts of the step are drawn, but not named. */
const NAMED = 0.005;
/** Parts that are wide enough to carry their name. */
const LABELED = 0.14;

const colorOf = (part: Part) => `var(${part.class ? classColor(part.class) : '--c-named'})`;

const meaningOf = (part: Part, hasGpu: boolean) =>
  part.class ? classMeaning(part.class, hasGpu) : 'between training steps, as time per step';

const titleOf = (part: Part, hasGpu: boolean | null) =>
  `${sentenceCase(part.name)} ${formatTime(ms(part.ms))}${hasGpu === null ? '' : `: ${meaningOf(part, hasGpu)}`}`;

/** `of`: ms that the whole width stands for. */
interface StepBarProps {
  readonly parts: readonly Part[];
  readonly of: number;
  /** Null: not known, so parts are named without their meaning. */
  readonly hasGpu: boolean | null;
  readonly slim?: boolean;
}

/** One step as one bar: each part as wide as it is long. */
export function StepBar({ parts, of, hasGpu, slim = false }: StepBarProps) {
  return (
    <div class={slim ? 'step-bar slim' : 'step-bar'} aria-hidden="true">
      {parts.map((part) => (
        <div
          key={part.name}
          class={part.class && PALE.has(part.class) ? 'part pale' : 'part'}
          title={titleOf(part, hasGpu)}
          style={{ width: `${(100 * part.ms) / of}%`, background: colorOf(part) }}
        >
          {!slim && part.ms / of >= LABELED && (
            <span>
              <b>{sentenceCase(part.name)}</b> {formatTime(ms(part.ms))}
            </span>
          )}
        </div>
      ))}
    </div>
  );
}

interface LegendProps {
  readonly parts: readonly Part[];
  readonly step: number;
  readonly hasGpu: boolean;
}

/** The table behind the bar, which also is its legend. */
export function StepLegend({ parts, step, hasGpu }: LegendProps) {
  const scale = timeScale(ms(step));
  const named = parts.filter((p) => p.ms >= NAMED * step).sort((a, b) => b.ms - a.ms);
  return (
    <table class="legend">
      <caption class="unseen">Where the time of a step goes</caption>
      <thead class="unseen">
        <tr>
          <th scope="col">Part</th>
          <th scope="col">Time</th>
          <th scope="col">Share</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        {named.map((part) => (
          <tr key={part.name}>
            <th scope="row">
              <i class="swatch" style={{ background: colorOf(part) }} />
              {sentenceCase(part.name)}
            </th>
            <td class="number">
              {formatInScale(ms(part.ms), scale)} {scale.unit}
            </td>
            <td class="number">{formatWholePercent(share(part.ms / step))}</td>
            <td class="meaning">{meaningOf(part, hasGpu)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
