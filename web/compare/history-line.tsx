import { largest, smallest } from '../../src/base/statistics.js';
import { formatTime, ms } from '../../src/base/units.js';
import type { CompareReport, HistoryPoint } from '../../src/compare/compare-report.js';
import { historyLines } from '../../src/render/compare-rows.js';
import { sentenceCase } from '../app/words.js';

const WIDTH = 1000;
const HEIGHT = 180;
const EDGE = 10;

/** Step times of the runs in the history, oldest first, with the last lasting change. */
export function HistoryLine({ report }: { readonly report: CompareReport }) {
  const { history } = report;
  if (!history || history.points.length < 2) return null;
  const { points, change } = history;
  const steps = points.map((p) => p.step_ms);
  const [low, high] = [smallest(steps), largest(steps)];
  const x = (i: number) => EDGE + ((WIDTH - 2 * EDGE) * i) / (points.length - 1);
  const y = (step: number) =>
    HEIGHT - EDGE - (high > low ? ((HEIGHT - 2 * EDGE) * (step - low)) / (high - low) : HEIGHT / 2);
  const path = points.map((p, i) => `${i === 0 ? 'M' : 'L'}${x(i).toFixed(1)} ${y(p.step_ms).toFixed(1)}`);
  // Half a run before the first one after the change. A change before the part that is shown has no place in it.
  const first = change ? points.length - change.since : 0;
  const last = points.length - 1;
  return (
    <section aria-labelledby="history-title" id="history">
      <h2 id="history-title">History</h2>
      {historyLines(report).map((line) => (
        <p key={line}>{sentenceCase(line)}.</p>
      ))}
      <figure class="history">
        <p class="columns">
          <span>{formatTime(ms(high))}</span>
        </p>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          role="img"
          aria-label={`Step time of the last ${points.length} runs`}
        >
          {first > 0 && <line class="change" x1={x(first - 0.5)} x2={x(first - 0.5)} y1="0" y2={HEIGHT} />}
          <path d={path.join('')} />
          {points.map((p, i) => (
            <circle
              key={i}
              class={i === last ? 'now' : p.good ? '' : 'slower'}
              cx={x(i)}
              cy={y(p.step_ms)}
              r={i === last ? 8 : 5}
            >
              <title>{pointText(p)}</title>
            </circle>
          ))}
        </svg>
        <p class="columns">
          <span>{formatTime(ms(low))}</span>
        </p>
        <p class="columns">
          <span>{points[0]!.time?.slice(0, 10) ?? points[0]!.label}</span>
          <span class="keys">
            <span class="key now">this run</span>
            {points.some((p) => !p.good) && <span class="key slower">slower, not compared with</span>}
            {first > 0 && <span class="key change">lasting change</span>}
          </span>
          <span>now</span>
        </p>
      </figure>
    </section>
  );
}

const pointText = ({ label, time, step_ms }: HistoryPoint): string =>
  `${label}${time === null ? '' : `, ${time.slice(0, 16).replace('T', ' ')}`}: ${formatTime(step_ms)}`;
