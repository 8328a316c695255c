import { largest, smallest } from '../../src/base/statistics.js';
import { formatCount, formatTime, ms } from '../../src/base/units.js';
import type { ComparedRun, CompareReport } from '../../src/compare/compare-report.js';
import { Sparkline } from '../app/sparkline.js';
import { type Histogram, histogramOf } from './histogram.js';
import { signedPercent } from './numbers.js';

const SIDES = ['Before', 'After'] as const;
/** Fewer steps show no distribution: their times are marks on the scale. */
const ENOUGH = 8;

/** How long steps take on both sides, and what the difference may be. */
export function StepTimes({ report }: { readonly report: CompareReport }) {
  const sides = [report.before.runs, report.after.runs];
  const times = sides.map((runs) => runs.flatMap((run) => timesOf(run)));
  const scale = histogramOf(times);
  const highest = largest(scale.shares.flat());
  const beyond = scale.beyond.reduce((sum, n) => sum + n, 0);
  return (
    <section aria-labelledby="steps-title" id="steps">
      <h2 id="steps-title">Step times</h2>
      <div class="distributions">
        {SIDES.map((name, i) => (
          <Side
            key={name}
            name={name}
            runs={sides[i]!}
            scale={scale}
            shares={scale.shares[i]!}
            highest={highest}
          />
        ))}
        <p class="columns">
          <span>{formatTime(ms(scale.from))}</span>
          {beyond > 0 && (
            <span>
              {formatCount(beyond, 'step')} longer than {formatTime(ms(scale.to))}{' '}
              {beyond === 1 ? 'is' : 'are'} not drawn
            </span>
          )}
          <span>{formatTime(ms(scale.to))}</span>
        </p>
      </div>
      <Difference report={report} />
      <InOrder sides={sides} scale={scale} />
    </section>
  );
}

/** Where only the mean is known, the mean. */
const timesOf = (run: ComparedRun): readonly number[] =>
  run.times_ms.length > 0 ? run.times_ms : [run.step_ms];

interface SideProps {
  readonly name: string;
  readonly runs: readonly ComparedRun[];
  readonly scale: Histogram;
  readonly shares: readonly number[];
  readonly highest: number;
}

function Side({ name, runs, scale, shares, highest }: SideProps) {
  const at = (time: number) => `${(100 * (time - scale.from)) / (scale.to - scale.from)}%`;
  const times = runs.flatMap(timesOf);
  const text = runs.map((run) => formatTime(run.usual_ms));
  return (
    <figure class="distribution">
      <figcaption>{name}</figcaption>
      <div class="bins" role="img" aria-label={`${name}: mean of each run ${text.join(', ')}`}>
        {times.length < ENOUGH
          ? times.map((time, i) => <i key={i} class="tick" style={{ left: at(time) }} />)
          : shares.map((part, i) => <i key={i} style={{ height: `${(100 * part) / highest}%` }} />)}
        {runs.map((run, i) => (
          <b key={i} title={`${run.label}: mean ${text[i]}`} style={{ left: at(run.usual_ms) }} />
        ))}
      </div>
    </figure>
  );
}

/** The interval, on a scale around no difference. */
function Difference({ report: { step } }: { readonly report: CompareReport }) {
  const [low, likely, high] = [step.speedup.high, step.speedup.likely, step.speedup.low].map(
    (s) => 1 / s - 1,
  );
  const reach = 1.15 * largest([Math.abs(low!), Math.abs(high!), 0.02]);
  const at = (change: number) => `${50 + (50 * change) / reach}%`;
  const level = `${Math.round(100 * step.level)}%`;
  return (
    <figure class={`interval ${low! > 0 ? 'slower' : high! < 0 ? 'faster' : ''}`}>
      <figcaption>
        Change of the time per {step.per}: <b class="number">{signedPercent(likely!)}</b>{' '}
        <span class="muted number">
          {level} between {signedPercent(low!)} and {signedPercent(high!)}
        </span>
      </figcaption>
      <div class="track" aria-hidden="true">
        <i class="zero" />
        <i class="range" style={{ left: at(low!), width: `${(50 * (high! - low!)) / reach}%` }} />
        <i class="likely" style={{ left: at(likely!) }} />
      </div>
      <p class="columns" aria-hidden="true">
        <span>faster</span>
        <span>no difference</span>
        <span>slower</span>
      </p>
    </figure>
  );
}

interface InOrderProps {
  readonly sides: readonly (readonly ComparedRun[])[];
  /** Longer steps are cut off at its end. */
  readonly scale: Histogram;
}

/** Drifts, pauses and patterns show only in order. */
function InOrder({ sides, scale }: InOrderProps) {
  return (
    <div class="sparklines">
      {sides.map((runs, i) => {
        const times = runs.flatMap((run) => run.times_ms);
        if (times.length === 0) return null;
        const range = `${formatTime(smallest(times))} to ${formatTime(largest(times))}`;
        return (
          <Sparkline
            key={SIDES[i]}
            name={`${SIDES[i]}, step by step`}
            values={inOrder(runs).map((time) => Math.min(time, scale.to))}
            bottom={scale.from}
            top={scale.to}
            range={() => range}
          />
        );
      })}
    </div>
  );
}

/** A gap between runs. */
function inOrder(runs: readonly ComparedRun[]): Float32Array {
  const gap: readonly number[] = [Number.NaN];
  return Float32Array.from(runs.flatMap((run, i) => [...(i === 0 ? [] : gap), ...run.times_ms]));
}
