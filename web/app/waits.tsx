import { namedRanks } from '../../src/base/rank-ranges.js';
import type { PageData } from '../../src/page/page-data.js';
import { sentenceCase } from './words.js';

/** Who waits for whom in a job that hangs, from the ranks that wait to those that wait for nobody. */
export function Waits({ page: { waits } }: { readonly page: PageData }) {
  if (!waits) return null;
  const isCulprit = (ranks: readonly number[]) => ranks.some((r) => waits.culprits.includes(r));
  return (
    <section aria-labelledby="waits-title" id="waits">
      <h2 id="waits-title">Who waits for whom</h2>
      <table class="legend">
        <caption class="unseen">
          Ranks that wait, the call in which they wait, and the ranks that are missing there
        </caption>
        <tbody>
          {waits.waits.map(({ ranks, on, call }) => (
            <tr key={`${ranks} ${on} ${call}`}>
              <th scope="row">{sentenceCase(namedRanks(ranks))}</th>
              <td class="meaning">→ {call} →</td>
              <td>{isCulprit(on) ? <strong>{namedRanks(on)}</strong> : namedRanks(on)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {waits.culprits.length > 0 && <p>In bold: the ranks that wait for nobody.</p>}
    </section>
  );
}
