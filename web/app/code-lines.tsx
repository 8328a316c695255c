import { formatWholePercent } from '../../src/base/units.js';
import type { PageData } from '../../src/page/page-data.js';

/** Smaller shares are not worth a line. */
const LEAST = 0.01;
const MOST = 20;

/** The lines of the user's program that hold the training thread. */
export function CodeLines({ page: { report } }: { page: PageData }) {
  const lines = report.host_lines.filter((l) => l.share >= LEAST).slice(0, MOST);
  if (lines.length === 0) return null;
  return (
    <section aria-labelledby="lines-title" id="lines">
      <h2 id="lines-title">Your lines that hold the training thread</h2>
      <ol class="code-lines">
        {lines.map((l) => (
          <li key={`${l.file}:${l.line}`}>
            <span class="number">{formatWholePercent(l.share)}</span>
            <div class="track">
              <div class="now" style={{ width: `${Math.min(100, 100 * l.share)}%` }} />
            </div>
            <div>
              <code class="source">{l.source || l.calls[0] || l.function}</code>
              <span class="muted">
                {l.file}:{l.line} in {l.function}
                {l.calls.length > 0 && `, calls ${l.calls.join(', ')}`}
              </span>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
