import { formatTime, ns, toMs } from '../../src/base/units.js';
import { TIME_CLASSES } from '../../src/facts/time-class.js';
import type { RankSteps } from '../../src/page/page-data.js';
import { decodeTime } from '../../src/page/page-data.js';
import type { Navigator } from './navigator.js';
import { classColor, className } from './words.js';

const MOST_COLUMNS = 240;
/** Pixels of a column. */
const WIDEST = 92;

/** The steps of one rank, each as a column of its parts. */
export function StepsChart({ steps, navigator }: { steps: RankSteps; navigator: Navigator }) {
  const whole = steps.metrics.find((m) => m.name === 'step')!;
  const parts = TIME_CLASSES.flatMap((c) => steps.metrics.filter((m) => m.name === c));
  const each = Math.ceil(steps.steps.length / MOST_COLUMNS);
  const slowest = (from: number) => {
    let worst = from;
    for (let i = from; i < Math.min(from + each, steps.steps.length); i++)
      if (decodeTime(whole, i) > decodeTime(whole, worst)) worst = i;
    return worst;
  };
  const columns = steps.steps.flatMap((_, i) => (i % each === 0 ? [slowest(i)] : []));
  const title = (i: number) => `step ${steps.steps[i]}: ${formatTime(toMs(ns(decodeTime(whole, i))))}`;
  return (
    <div style={{ maxWidth: `${WIDEST * columns.length}px` }}>
      <ol class="steps-chart" aria-label="Time of each step">
        {columns.map((i) => (
          <li key={i}>
            <button
              type="button"
              class={navigator.view.value.step === steps.steps[i] ? 'chosen' : ''}
              title={title(i)}
              aria-label={title(i)}
              onClick={() => navigator.show({ rank: steps.ranks[0]!, step: steps.steps[i]! })}
            >
              {parts.map((m) => (
                <i
                  key={m.name}
                  title={className(m.name as (typeof TIME_CLASSES)[number])}
                  style={{
                    height: `${(100 * (decodeTime(m, i) || 0)) / whole.top}%`,
                    background: `var(${classColor(m.name as (typeof TIME_CLASSES)[number])})`,
                  }}
                />
              ))}
            </button>
          </li>
        ))}
      </ol>
      <p class="columns">
        <span>step {steps.steps[0]}</span>
        <span>
          the slowest takes {formatTime(toMs(ns(whole.top)))}
          {each * steps.stepsPerColumn > 1 &&
            `; a column is the slowest of ${each * steps.stepsPerColumn} steps`}
        </span>
        <span>{steps.steps.at(-1)}</span>
      </p>
    </div>
  );
}
