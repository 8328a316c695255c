import { formatTime, formatWholePercent, share } from '../../src/base/units.js';
import type { PageData } from '../../src/page/page-data.js';

/** How far the step is from what its GPU can do, where the GPU is the limit. */
export function Hardware({ page: { report } }: { page: PageData }) {
  const { hardware, verdict } = report;
  if (!hardware || verdict.bottleneck !== 'gpu') return null;
  return (
    <section aria-labelledby="hardware-title" id="hardware">
      <h2 id="hardware-title">How far from the hardware</h2>
      {hardware.text.map((text) => (
        <p key={text}>{text}.</p>
      ))}
      {hardware.kernels.length > 0 && (
        <table>
          <caption>{hardware.kinds.length > 0 ? 'What to look at' : 'What takes most time'}</caption>
          <thead>
            <tr>
              <th scope="col">Work</th>
              <th scope="col" class="number">
                Per step
              </th>
              <th scope="col" class="number">
                Of the limit
              </th>
            </tr>
          </thead>
          <tbody>
            {hardware.kernels.map(({ operator, kernel, shapes, ms, of_limit }) => (
              <tr key={`${kernel} ${shapes}`}>
                <th scope="row" title={kernel}>
                  {operator ?? kernel.slice(0, 60)} {shapes}
                </th>
                <td class="number">{formatTime(ms)}</td>
                <td class="number">{of_limit === null ? '' : formatWholePercent(share(of_limit))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
