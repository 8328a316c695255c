import { namedRanks } from '../../src/base/rank-ranges.js';
import { formatTime, formatWhole, ns, toMs } from '../../src/base/units.js';
import { decodeTime, type PageData, type RankSteps } from '../../src/page/page-data.js';
import { costOf } from '../../src/render/money.js';

type Incident = PageData['report']['incidents'][number];

/** Shorter runs are shown step by step below. */
const LEAST_STEPS = 30;
/** Lines that are drawn: ranks with incidents first. */
const MOST_LINES = 64;
const WIDTH = 1000;
const HEIGHT = 30;
const POINTS = 240;
/** Noise must not look like a change: the scale spans at least this share of the usual step. */
const LEAST_SPAN = 0.3;

/** The whole run, one line per rank, with what changed in it. */
export function Changes({ page, isLive }: { readonly page: PageData; readonly isLive: boolean }) {
  const { incidents } = page.report;
  const steps = page.rankSteps;
  const hasLines = steps !== null && !steps.profiled && steps.steps.length >= LEAST_STEPS;
  if (incidents.length === 0 && !(isLive && hasLines)) return null;
  return (
    <section aria-labelledby="changes-title" id="changes">
      <h2 id="changes-title">{incidents.length > 0 ? 'What changed during the run' : 'The run so far'}</h2>
      {hasLines && <Lines steps={steps} incidents={incidents} />}
      {incidents.length > 0 && (
        <ul class="incidents">
          {incidents.toReversed().map((incident) => (
            <Entry key={`${incident.run} ${incident.id}`} incident={incident} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Entry({ incident }: { readonly incident: Incident }) {
  const { alarm, state, sentence, until_step, evidence, fix, traces } = incident;
  return (
    <li class={alarm ? (state === 'open' ? 'alarm open' : 'alarm') : ''}>
      <p>
        <b>{sentence}</b>
        {state === 'ended' && ` It ended at step ${formatWhole(until_step ?? 0)}.`}
        {state === 'restarted' && ` It was open when the job restarted.`}
      </p>
      {costOf(incident) !== '' && <p>{costOf(incident)}</p>}
      {evidence.map((text) => (
        <p key={text} class="muted">
          {text}
        </p>
      ))}
      {fix !== null && state === 'open' && <p>→ {fix}</p>}
      {traces.length > 0 && <p class="muted">profiler windows: {traces.join(', ')}</p>}
    </li>
  );
}

function Lines({ steps, incidents }: { readonly steps: RankSteps; readonly incidents: readonly Incident[] }) {
  const metric = steps.metrics.find((m) => m.name === 'own') ?? steps.metrics.find((m) => m.name === 'step')!;
  const alarms = incidents.filter((i) => i.alarm);
  const named = new Set(alarms.flatMap((i) => i.ranks));
  const shown = steps.ranks
    .map((rank, row) => ({ rank, row }))
    .sort((a, b) => Number(named.has(b.rank)) - Number(named.has(a.rank)))
    .slice(0, MOST_LINES)
    .sort((a, b) => a.rank - b.rank);
  const each = Math.ceil(steps.steps.length / POINTS);
  const lines = shown.map(({ rank, row }) => ({
    rank,
    values: meansOf((i) => decodeTime(metric, row * steps.steps.length + i), steps.steps.length, each),
  }));
  const known = lines
    .flatMap((l) => l.values)
    .filter((v) => !Number.isNaN(v))
    .sort((a, b) => a - b);
  if (known.length === 0) return null;
  const low = known[0]!;
  // One slow moment must not flatten the rest.
  const high = Math.max(known[Math.floor(0.995 * (known.length - 1))]!, low * (1 + LEAST_SPAN));
  const [first, last] = [steps.steps[0]!, steps.steps.at(-1)!];
  const x = (step: number) =>
    (WIDTH * Math.min(Math.max(step, first), last) - WIDTH * first) / Math.max(1, last - first);
  const y = (v: number) => HEIGHT - 2 - ((HEIGHT - 4) * Math.min(v - low, high - low)) / (high - low);
  const hidden = steps.ranks.length - shown.length;
  return (
    <figure class="run-lines">
      {lines.map(({ rank, values }) => {
        const marks = alarms.filter((i) => i.ranks.length === 0 || i.ranks.includes(rank));
        const words =
          marks.length > 0 ? `, ${marks.length === 1 ? 'a change' : `${marks.length} changes`} marked` : '';
        const end = values.findLast((v) => !Number.isNaN(v)) ?? Number.NaN;
        return (
          <div key={rank}>
            <span>{namedRanks([rank])}</span>
            <svg
              viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
              preserveAspectRatio="none"
              role="img"
              aria-label={`Step time of rank ${rank} over the run${words}`}
            >
              {marks.map((i) => (
                <rect
                  key={`${i.run} ${i.id}`}
                  x={x(i.step)}
                  width={Math.max(3, x(i.until_step ?? last) - x(i.step))}
                  height={HEIGHT}
                >
                  <title>{i.sentence}</title>
                </rect>
              ))}
              <path
                d={pathOf(values, (p) => x(steps.steps[Math.min(p * each, steps.steps.length - 1)]!), y)}
              />
            </svg>
            <span class="number">{formatTime(toMs(ns(end)))}</span>
          </div>
        );
      })}
      <figcaption class="columns">
        <span>step {formatWhole(first)}</span>
        <span>
          {metric.name === 'own' ? 'own time per step, without waiting for other ranks' : 'time per step'}:
          lines span {formatTime(toMs(ns(low)))} to {formatTime(toMs(ns(high)))}
          {hidden > 0 && `; ${formatWhole(hidden)} more ranks are not shown`}
        </span>
        <span>{formatWhole(last)}</span>
      </figcaption>
    </figure>
  );
}

/** Of groups of `each` steps. */
function meansOf(at: (i: number) => number, count: number, each: number): number[] {
  const means: number[] = [];
  for (let from = 0; from < count; from += each) {
    let [sum, n] = [0, 0];
    for (let i = from; i < Math.min(from + each, count); i++) {
      const value = at(i);
      if (Number.isNaN(value)) continue;
      sum += value;
      n++;
    }
    means.push(n > 0 ? sum / n : Number.NaN);
  }
  return means;
}

/** A step that was not recorded is a gap. */
const pathOf = (values: readonly number[], x: (i: number) => number, y: (v: number) => number): string =>
  values
    .map((v, i) =>
      Number.isNaN(v)
        ? ''
        : `${i === 0 || Number.isNaN(values[i - 1]!) ? 'M' : 'L'}${x(i).toFixed(1)} ${y(v).toFixed(1)}`,
    )
    .join('');
