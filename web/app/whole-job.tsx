import { formatCount, formatDuration, formatWholePercent, seconds } from '../../src/base/units.js';
import type { JobOverTime, PageData } from '../../src/page/page-data.js';
import { phaseName } from '../../src/render/step-time.js';
import { sentenceCase } from './words.js';

/** Training first, so that it always has the same color. */
const COLORS = [
  '--c-compute',
  '--c-idle-data',
  '--c-copy',
  '--c-idle-sync',
  '--c-comms-transfer',
  '--c-idle-host',
];

/** Where the wall time of the process went. */
export function WholeJob({ page: { report, jobOverTime } }: { page: PageData }) {
  const { job } = report;
  if (!job) return null;
  // Phases inside steps are part of `steps` in the bar.
  const names = ['steps', ...job.phases.filter((p) => p.name !== 'steps' && !p.sampled).map((p) => p.name)];
  const colorOf = (name: string) => {
    const at = names.indexOf(name);
    return `var(${at < 0 ? '--c-idle-other' : (COLORS[at] ?? '--c-idle-other')})`;
  };
  return (
    <section aria-labelledby="job-title" id="job">
      <h2 id="job-title">The whole job</h2>
      <p>{formatDuration(job.wall_s)} from the start of the process to its end.</p>
      <div class="step-bar" aria-hidden="true">
        {job.phases.map((p) => (
          <div
            key={p.name}
            class="part"
            title={`${phaseName(p.name)} ${formatDuration(p.s)}`}
            style={{ width: `${100 * p.share}%`, background: colorOf(p.name) }}
          >
            {p.share >= 0.14 && (
              <span>
                <b>{sentenceCase(phaseName(p.name))}</b> {formatDuration(p.s)}
              </span>
            )}
          </div>
        ))}
      </div>
      {jobOverTime && <OverTime job={jobOverTime} colorOf={colorOf} />}
      <table class="legend">
        <caption class="unseen">Phases of the job</caption>
        <tbody>
          {job.phases.map((p) => (
            <tr key={p.name}>
              <th scope="row">
                <i class="swatch" style={{ background: colorOf(p.name) }} />
                {sentenceCase(phaseName(p.name))}
              </th>
              <td class="number">{formatDuration(p.s)}</td>
              <td class="number">{formatWholePercent(p.share)}</td>
              <td class="meaning">
                {p.name === 'steps' ? formatCount(p.count, 'step') : p.count > 1 ? `${p.count} times` : ''}
                {p.sampled && ' in the recorded steps, scaled to all'}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** From start to end: each column is a slice of the job, divided into phases. */
function OverTime({ job, colorOf }: { job: JobOverTime; colorOf: (name: string) => string }) {
  const wall = seconds(job.bounds.at(-1)!);
  return (
    <figure class="over-time">
      <div class="slices" aria-hidden="true">
        {job.seconds.map((parts, i) => {
          const length = job.bounds[i + 1]! - job.bounds[i]!;
          return (
            <div key={job.bounds[i]} style={{ width: `${(100 * length) / wall}%` }}>
              {parts.map((s, p) => (
                <i
                  key={job.phases[p]}
                  title={`${phaseName(job.phases[p]!)} ${formatDuration(seconds(s))}`}
                  style={{ height: `${(100 * s) / (length || 1)}%`, background: colorOf(job.phases[p]!) }}
                />
              ))}
            </div>
          );
        })}
      </div>
      <figcaption class="columns">
        <span>start</span>
        <span>share of the time, over the job</span>
        <span>{formatDuration(wall)}</span>
      </figcaption>
    </figure>
  );
}
