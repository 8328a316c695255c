import { formatTime, ms } from '../../src/base/units.js';
import type { Speedup } from '../../src/rules/kit/finding.js';

/** The step now and after the fix, on one scale. The hatched part is what the estimate leaves open. */
export function GainBar({ now, speedup }: { now: number; speedup: Speedup }) {
  const percent = (time: number) => `${Math.min(100, (100 * time) / now)}%`;
  const [best, likely, worst] = [now / speedup.high, now / speedup.likely, now / speedup.low];
  const label = `now ${formatTime(ms(now))}, after the fix ${formatTime(ms(likely))} likely, between ${formatTime(ms(best))} and ${formatTime(ms(worst))}`;
  return (
    <div class="gain-bar" role="img" aria-label={label}>
      <span class="end">Now</span>
      <div class="track">
        <div class="now" style={{ width: '100%' }} />
      </div>
      <span class="number">{formatTime(ms(now))}</span>
      <span class="end">After</span>
      <div class="track">
        <div class="after" style={{ width: percent(best) }} />
        <div class="open" style={{ width: `calc(${percent(worst)} - ${percent(best)})` }} />
        <div class="likely" style={{ left: percent(likely) }} />
      </div>
      <span class="number">≈ {formatTime(ms(likely))}</span>
    </div>
  );
}
