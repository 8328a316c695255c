import { formatInScale, formatTime, formatWholePercent, ms, share, timeScale } from '../../src/base/units.js';
import { TIME_CLASSES, type TimeClass } from '../../src/facts/time-class.js';
import { CLASS_MEANINGS, classColour, className } from './words.js';

export interface Part {
  readonly name: TimeClass;
  readonly ms: number;
}

/** Smaller parts of the step are drawn, but not named. */
const NAMED = 0.005;
/** Parts that are wide enough to carry their name. */
const LABELLED = 0.14;

export const partsOf = (time: Readonly<Record<TimeClass, number>>, scale: number): Part[] =>
  TIME_CLASSES.map((name) => ({ name, ms: time[name] * scale })).filter((p) => p.ms > 0);

/** One step as one bar: each part as wide as it is long. `of`: what the whole width stands for. */
export function StepBar({ parts, of, slim = false }: { parts: readonly Part[]; of: number; slim?: boolean }) {
  return (
    <div class={slim ? 'step-bar slim' : 'step-bar'} aria-hidden="true">
      {parts.map(({ name, ms: part }) => (
        <div
          key={name}
          class="part"
          title={`${className(name)} ${formatTime(ms(part))}: ${CLASS_MEANINGS[name]}`}
          style={{ width: `${(100 * part) / of}%`, background: `var(${classColour(name)})` }}
        >
          {!slim && part / of >= LABELLED && (
            <span>
              <b>{className(name)}</b> {formatTime(ms(part))}
            </span>
          )}
        </div>
      ))}
    </div>
  );
}

/** The table behind the bar, which also is its legend. */
export function StepLegend({ parts, step }: { parts: readonly Part[]; step: number }) {
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
        {named.map(({ name, ms: part }) => (
          <tr key={name}>
            <th scope="row">
              <i class="swatch" style={{ background: `var(${classColour(name)})` }} />
              {className(name)}
            </th>
            <td class="number">
              {formatInScale(ms(part), scale)} {scale.unit}
            </td>
            <td class="number">{formatWholePercent(share(part / step))}</td>
            <td class="meaning">{CLASS_MEANINGS[name]}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
