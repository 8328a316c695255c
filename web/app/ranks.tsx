import { formatTime, formatWholePercent } from '../../src/base/units.js';
import type { PageData } from '../../src/page/page-data.js';
import { CLASS_NAMES, rankCount } from '../../src/render/step-time.js';
import { HeatMap } from './heat-map.js';
import type { Navigator } from './navigator.js';
import { StepsChart } from './steps-chart.js';
import { confidenceWord } from './words.js';

/** Ranks with a smaller share of the critical path are not named. */
const ON_PATH = 0.1;
/** Fewer steps of one rank show nothing that the step does not. */
const ENOUGH_STEPS = 4;

/** How ranks and steps compare. */
export function Ranks({ page, navigator }: { page: PageData; navigator: Navigator }) {
  const { rankSteps, report } = page;
  if (!rankSteps) return null;
  const single = rankSteps.ranks.length === 1;
  if (single && rankSteps.steps.length < ENOUGH_STEPS) return null;
  const others = report.stragglers.filter((s) => !report.verdict.details.includes(s.sentence));
  const late = new Set(report.stragglers.flatMap((s) => s.ranks));
  return (
    <section aria-labelledby="ranks-title" id="ranks">
      <h2 id="ranks-title">{single ? 'Step by step' : 'Rank by rank, step by step'}</h2>
      {others.length > 0 && (
        <ul class="stragglers">
          {others.map((s) => (
            <li key={s.sentence}>
              <b>{s.sentence}</b>{' '}
              <span class="muted">
                {s.pattern}, confidence {confidenceWord(s.confidence)}
              </span>
            </li>
          ))}
        </ul>
      )}
      {!single && report.stragglers.length === 0 && (
        <p>
          {report.collectives
            ? 'No rank is late.'
            : 'These ranks share no recorded collective, so whether one waits for another is unknown.'}
        </p>
      )}
      {single ? (
        <StepsChart steps={rankSteps} navigator={navigator} />
      ) : (
        <HeatMap steps={rankSteps} late={late} navigator={navigator} />
      )}
      <WhatIsShown page={page} />
      {!single && (
        <p class="note">
          <CriticalPath page={page} />{' '}
          <button type="button" class="link" onClick={() => navigator.lookUp('ranks')}>
            Show these figures as tables
          </button>
        </p>
      )}
      <Missing page={page} />
    </section>
  );
}

/** A smaller part of a step is not missed. */
const MISSED = 0.01;

/** In what the steps shown differ from the one step that the answer has. */
function WhatIsShown({ page: { rankSteps, report, decisiveRank } }: { page: PageData }) {
  const { ms, parts } = report.step;
  const between = parts.filter((p) => p.between && p.ms > MISSED * (ms ?? 0)).map((p) => p.name);
  return (
    <>
      {rankSteps!.profiled && (
        <p class="note">Steps as recorded: the profiler makes them a little longer than the step above.</p>
      )}
      {rankSteps!.dividedByLogs && (
        <p class="note">
          Computing, host and waiting time come from the event logs here, which all ranks have. The step above
          uses the trace of rank {decisiveRank} too.
        </p>
      )}
      {between.length > 0 && (
        <p class="note">Training steps only, without the time between them ({between.join(', ')}).</p>
      )}
    </>
  );
}

/** Which ranks set the pace, and what they spend that time on. */
function CriticalPath({ page: { report } }: { page: PageData }) {
  const path = report.critical_path;
  if (!path) return null;
  const named = path.by_rank.filter((r) => r.share >= ON_PATH).slice(0, 3);
  if (named.length === 0) return <>The critical path is spread over all ranks.</>;
  const parts = named.map(
    (r) =>
      `${formatWholePercent(r.share)} is on rank ${r.rank} (${CLASS_NAMES[r.mostly]} ${formatTime(r.mostly_ms)})`,
  );
  return <>Of the critical path, {parts.join(', ')}.</>;
}

/** Which ranks there are that the page does not know. */
function Missing({ page: { report } }: { page: PageData }) {
  const groups = report.collectives?.groups ?? [];
  const world = Math.max(
    0,
    groups.reduce((most, g) => Math.max(most, g.size ?? 0), 0),
  );
  if (world <= rankCount(report)) return null;
  return (
    <p class="honest">
      {rankCount(report)} of {world} ranks were captured. A rank that is not here may be the late one.
    </p>
  );
}
