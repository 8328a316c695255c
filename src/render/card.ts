import { formatTime, ms, type Share } from '../base/units.js';
import type { TimeClass } from '../facts/time-class.js';
import type { Report } from '../report/report.js';
import type { Finding } from '../rules/kit/finding.js';
import { escaped } from './html.js';
import { gain, type StepPart, stepLabel, stepParts, stepSource } from './step-time.js';

/** The page's colors (web/app/theme.css); a test compares them. Notebooks may drop style sheets, so they are written inline. */
export const CARD_COLORS: Readonly<Record<TimeClass, string>> = {
  compute: '#3a7d5d',
  comms_transfer: '#426dbd',
  comms_wait: '#a9c1ee',
  copy: '#7c5fb5',
  idle_data: '#ec8a34',
  idle_sync: '#b93d5e',
  idle_compile: '#b08900',
  idle_comms: '#7ea6c9',
  idle_host: '#e8c650',
  idle_other: '#b9bcc2',
};
const NAMED_COLOR = '#7a5546';
const FIXES = 3;
/** Smaller parts of the step are drawn, but not named. */
const NAMED: Share = 0.005 as Share;

/** A report at a glance, for notebooks: verdict, step bar, first fixes. HTML without scripts that follows the notebook's colors. */
export function renderCard(report: Report): string {
  const { verdict, findings, step } = report;
  const source = step.ms === null ? '' : stepSource(report);
  return [
    '<div style="max-width:56em;line-height:1.45">',
    `<div style="font-size:1.25em;font-weight:600">${escaped(`${verdict.label}: ${verdict.headline}`)}</div>`,
    ...verdict.details.map((text) => `<div>${escaped(text)}</div>`),
    ...stepBar(report),
    ...(source ? [`<div style="${SMALL}">${escaped(source)}</div>`] : []),
    ...(findings.length > 0
      ? [
          `<ol style="padding-left:1.5em;margin:.6em 0">`,
          ...findings.slice(0, FIXES).map((f) => fix(f, report)),
          '</ol>',
        ]
      : []),
    ...(findings.length > FIXES
      ? [`<div style="${SMALL}">${findings.length - FIXES} more on the full page</div>`]
      : []),
    ...verdict.next.map((text) => `<div>Next: ${escaped(text)}</div>`),
    '</div>',
  ].join('\n');
}

const SMALL = 'opacity:.75;font-size:.9em';
const CODE =
  'margin:.2em 0;padding:.4em .6em;border:1px solid rgba(128,128,128,.35);border-radius:4px;background:rgba(128,128,128,.1);font-family:monospace;white-space:pre-wrap;overflow-wrap:anywhere';

function stepBar({ step, time }: Report): string[] {
  const whole = step.ms;
  if (whole === null || whole <= 0) return [];
  const parts = stepParts(whole, time, step.parts)
    .filter(({ share }) => share > 0)
    .sort((a, b) => b.share - a.share);
  const bar = parts.map(
    (part) =>
      `<div title="${escaped(part.name)}" style="width:${(100 * part.share).toFixed(2)}%;background:${colorOf(part)}"></div>`,
  );
  const legend = parts
    .filter(({ share }) => share >= NAMED)
    .map(
      (part) =>
        `<span style="margin-right:1em;white-space:nowrap"><span style="display:inline-block;width:.7em;height:.7em;background:${colorOf(part)}"></span> ${escaped(part.name)} ${formatTime(ms(part.share * whole))}</span>`,
    );
  return [
    '<div style="display:flex;height:1.4em;margin:.5em 0 .2em;border-radius:3px;overflow:hidden">',
    ...bar,
    '</div>',
    `<div>${stepLabel(step)} ${formatTime(whole)} = ${legend.join('')}</div>`,
  ];
}

const colorOf = (part: StepPart) => (part.class ? CARD_COLORS[part.class] : NAMED_COLOR);

function fix(
  { title, rule, cost, speedup, addresses, fix: { code, text } }: Finding,
  { step }: Report,
): string {
  const price = addresses === null ? cost : `${cost} · ${gain(speedup, step.ms)}`;
  return [
    `<li><b>${escaped(title)}</b> (${escaped(rule)}) <span style="${SMALL}">${escaped(price)}</span>`,
    code ? `<pre style="${CODE}">${escaped(code)}</pre>` : `<div>${escaped(text)}</div>`,
    '</li>',
  ].join('');
}
