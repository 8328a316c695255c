import { namedRanks } from '../../src/base/rank-ranges.js';
import type { PageData, WaitsOnPage } from '../../src/page/page-data.js';
import { NODE, waitGraph } from './wait-graph.js';
import { sentenceCase } from './words.js';

/** Who waits for whom in a job that hangs, from the ranks that wait to those that hold them up. */
export function Waits({ page: { waits } }: { readonly page: PageData }) {
  if (!waits) return null;
  return (
    <section aria-labelledby="waits-title" id="waits">
      <h2 id="waits-title">Who waits for whom</h2>
      <Picture waits={waits} />
      <table class="legend">
        <caption class="unseen">
          Ranks that wait, the call in which they wait, and the ranks that are missing there
        </caption>
        <tbody>
          {waits.waits.map(({ ranks, on, call }) => (
            <tr key={`${ranks} ${on} ${call}`}>
              <th scope="row">
                {sentenceCase(namedRanks(ranks))} {ranks.length === 1 ? 'waits' : 'wait'} for {namedRanks(on)}
              </th>
              <td class="meaning">in {call}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Picture({ waits }: { readonly waits: WaitsOnPage }) {
  const { nodes, arrows, width, height } = waitGraph(waits);
  return (
    <figure class="wait-graph">
      {/* The table below has the same in words. */}
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="8"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            orient="auto"
          >
            <path d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        {arrows.map(({ from, to, path }) => (
          <path key={`${from} ${to}`} class="arrow" d={path} marker-end="url(#arrow)" />
        ))}
        {nodes.map(({ label, call, isCulprit, x, y }, i) => (
          <g key={i} class={isCulprit ? 'culprit' : ''} transform={`translate(${x} ${y})`}>
            <title>{call === null ? label : `${label}: ${call}`}</title>
            <rect width={NODE.width} height={NODE.height} rx="5" />
            <text x="10" y="17">
              {shortened(sentenceCase(label), 22)}
            </text>
            <text x="10" y="32" class="call">
              {shortened(call ?? (isCulprit ? 'has not arrived' : ''), 26)}
            </text>
          </g>
        ))}
      </svg>
      <figcaption>
        An arrow leads from ranks that wait to those that they wait for.
        {waits.culprits.length > 0 && ' A filled box holds up the others.'}
      </figcaption>
    </figure>
  );
}

const shortened = (text: string, letters: number): string =>
  text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
