import { useComputed, useSignal } from '@preact/signals';
import { formatCount, formatTime, ms, ns, toMs } from '../../src/base/units.js';
import type { PageData } from '../../src/page/page-data.js';
import {
  AS_IT_IS,
  type Lever,
  type LeverSettings,
  replayedStep,
  type WhatIfPlan,
} from '../../src/page/what-if.js';
import { LEVER_NAMES, sentenceCase } from './words.js';

/** What the step would take if something were different. */
export function WhatIf({ page }: { page: PageData }) {
  const { whatIf, report } = page;
  const cases = [...noLateness(report.what_if), ...(report.what_if?.cases ?? [])];
  if (report.step.ms === null) return null;
  return (
    <section aria-labelledby="what-if-title" id="what-if">
      <h2 id="what-if-title">What if</h2>
      {typeof whatIf === 'string' ? <p class="muted">{whatIf}</p> : <Sliders whatIf={whatIf} page={page} />}
      {cases.length > 0 && (
        <>
          <h3>Across ranks</h3>
          <ul class="cases">
            {cases.map((c) => (
              <li key={c.text}>
                <span>{sentenceCase(c.text)}</span>
                <b class="number">−{formatTime(c.saving_ms)}</b>
                <div class="track">
                  <div class="now" style={{ width: `${share(c.saving_ms, report.step.ms!)}%` }} />
                </div>
              </li>
            ))}
          </ul>
          <p class="note">Replayed over all ranks, one change at a time. Savings do not add up.</p>
        </>
      )}
    </section>
  );
}

/** What all late ranks together cost. */
function noLateness(whatIf: PageData['report']['what_if']) {
  const saving = whatIf ? (whatIf.actual_s - whatIf.ideal_s) * 1e3 : 0;
  if (!whatIf || !(whatIf.slowdown > 1.01)) return [];
  return [{ text: 'without any straggler', saving_ms: ms(saving) }];
}

const share = (part: number, whole: number) => Math.min(100, (100 * part) / whole);

function Sliders({ whatIf, page }: { whatIf: WhatIfPlan; page: PageData }) {
  const settings = useSignal<LeverSettings>(AS_IT_IS);
  const step = useComputed(() => toMs(replayedStep(whatIf, settings.value)));
  const now = toMs(ns(whatIf.step + whatIf.between));
  const set = (lever: Lever, factor: number) => {
    settings.value = { ...settings.value, [lever]: factor };
  };
  const several = page.report.ranks.length > 1;
  const { nodes, steps } = whatIf.plan;
  return (
    <div class="what-if">
      <div class="levers">
        {whatIf.levers.map((lever) =>
          lever === 'sync' ? (
            <label key={lever} class="toggle">
              <input
                type="checkbox"
                name={lever}
                checked={settings.value.sync === 1}
                onChange={(e) => set('sync', e.currentTarget.checked ? 1 : 0)}
              />
              <span>{LEVER_NAMES.sync}</span>
            </label>
          ) : (
            <label key={lever}>
              <span>{LEVER_NAMES[lever]}</span>
              <input
                type="range"
                name={lever}
                min="0"
                max="1"
                step="0.05"
                value={settings.value[lever]}
                onInput={(e) => set(lever, Number(e.currentTarget.value))}
              />
              <output class="number">× {settings.value[lever].toFixed(2)}</output>
            </label>
          ),
        )}
      </div>
      <div class="outcome" aria-live="polite">
        <p class="eyebrow">{several ? `A step of rank ${whatIf.rank} would take` : 'A step would take'}</p>
        <p class="big number" data-ms={step.value}>
          {formatTime(step.value)}
        </p>
        <div class="track">
          <div class="now" style={{ width: `${share(step.value, now)}%` }} />
        </div>
        <p class="note">
          {formatTime(now)} now
          {step.value < now * 0.995 && step.value > 0
            ? `, so × ${(now / step.value).toFixed(2)} as fast`
            : ''}
        </p>
        <button
          type="button"
          onClick={() => {
            settings.value = AS_IT_IS;
          }}
        >
          Reset
        </button>
      </div>
      <p class="note">
        Replayed in your browser by the engine that prices the fixes:{' '}
        {formatCount(steps.length, 'recorded step')}, {formatCount(nodes.length, 'call')}.
        {several && ' Other ranks are taken to keep up.'}
      </p>
    </div>
  );
}
