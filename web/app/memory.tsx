import {
  bytes,
  formatBytes,
  formatDuration,
  formatWholePercent,
  seconds,
  share,
} from '../../src/base/units.js';
import type { MemoryOnPage, PageData } from '../../src/page/page-data.js';
import { sentenceCase } from './words.js';

/** One for each kind of memory, in their order. */
const COLORS = [
  '--c-compute',
  '--c-comms-transfer',
  '--c-idle-sync',
  '--c-idle-data',
  '--c-copy',
  '--c-idle-host',
  '--c-idle-other',
];

/** The stack at the peak, and over time. */
export function Memory({ page: { memory } }: { readonly page: PageData }) {
  if (!memory) return null;
  const colorOf = (kind: string) => `var(${COLORS[memory.kinds.indexOf(kind)] ?? '--c-idle-other'})`;
  const sum = memory.parts.reduce((total, p) => total + p.bytes, 0) || 1;
  return (
    <section aria-labelledby="memory-title" id="memory">
      <h2 id="memory-title">What holds the memory{memory.who && ` of ${memory.who}`}</h2>
      <p>{sentenceCase(memory.title)}.</p>
      <div class="step-bar" aria-hidden="true">
        {memory.parts.map((p) => (
          <div
            key={p.kind}
            class="part"
            title={`${p.kind} ${formatBytes(bytes(p.bytes))}`}
            style={{ width: `${(100 * p.bytes) / sum}%`, background: colorOf(p.kind) }}
          >
            {p.bytes >= 0.14 * sum && (
              <span>
                <b>{sentenceCase(p.kind)}</b> {formatBytes(bytes(p.bytes))}
              </span>
            )}
          </div>
        ))}
      </div>
      {memory.slices.length > 1 && <OverTime memory={memory} colorOf={colorOf} />}
      <table class="legend">
        <caption class="unseen">Memory by kind at the peak</caption>
        <tbody>
          {memory.parts.map((p) => (
            <tr key={p.kind}>
              <th scope="row">
                <i class="swatch" style={{ background: colorOf(p.kind) }} />
                {sentenceCase(p.kind)}
              </th>
              <td class="number">{formatBytes(bytes(p.bytes))}</td>
              <td class="number">{formatWholePercent(share(p.bytes / sum))}</td>
              <td class="meaning">
                {p.lines.map((l) => `${l.at} ${formatBytes(bytes(l.bytes))}`).join(' · ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Each column is a slice of the recording at its highest moment. */
function OverTime({ memory, colorOf }: { memory: MemoryOnPage; colorOf: (kind: string) => string }) {
  return (
    <figure class="over-time">
      <div class="slices" aria-hidden="true">
        {memory.slices.map((kinds, i) => (
          <div key={i} style={{ width: `${100 / memory.slices.length}%` }}>
            {kinds.map((held, k) => (
              <i
                key={memory.kinds[k]}
                title={`${memory.kinds[k]} ${formatBytes(bytes(held))}`}
                style={{ height: `${(100 * held) / memory.most}%`, background: colorOf(memory.kinds[k]!) }}
              />
            ))}
          </div>
        ))}
      </div>
      <figcaption class="columns">
        <span>start</span>
        <span>memory in use, over the recording</span>
        <span>{formatDuration(seconds(memory.seconds))}</span>
      </figcaption>
    </figure>
  );
}
