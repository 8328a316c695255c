import { formatWhole } from '../../base/units.js';
import type { Report } from '../../report/report.js';
import { costOf } from '../money.js';
import { hanging, oneLine, type Page, paragraph } from './page.js';

type Incident = Report['incidents'][number];

/** In the terminal, open ones count most. */
const MOST_SHOWN = 5;

/** What happened while the run was watched: alarms first, the newest first. */
export function incidentSection({ incidents }: Report, page: Page, all: boolean): string[] {
  const sorted = [...incidents].reverse().sort((a, b) => Number(b.alarm) - Number(a.alarm));
  const shown = all ? sorted : sorted.slice(0, MOST_SHOWN);
  if (shown.length === 0) return [];
  const more = sorted.length - shown.length;
  return [
    page.c.bold('What changed during the run'),
    ...shown.flatMap((incident) => renderIncident(incident, page)),
    ...(more > 0 ? [page.c.dim(`  and ${more} more (--all lists them)`)] : []),
  ];
}

/** An incident with what shows its cause. */
export function renderIncident(incident: Incident, page: Page): string[] {
  const { state, alarm, sentence, evidence, fix, until_step } = incident;
  const cost = costOf(incident);
  const paint = !alarm ? page.c.dim : state === 'open' ? page.c.red : page.c.yellow;
  const end =
    state === 'open'
      ? ''
      : ` It ${state === 'ended' ? 'ended' : 'was open when the job restarted'} at step ${formatWhole(until_step ?? 0)}.`;
  return [
    ...hanging(alarm ? '! ' : '· ', `${sentence}${end}`, page, paint),
    ...(cost === '' ? [] : paragraph(cost, page, '    ')),
    ...evidence.flatMap((text) => paragraph(text, page, '    ', page.c.dim)),
    ...(fix !== null && state === 'open' ? hanging('  → ', fix, page) : []),
  ];
}

/** For a pipe or a log: one line for each incident. */
export function incidentLine({ sentence, state, until_step, fix }: Incident): string {
  const what = oneLine(sentence);
  if (state === 'open') return `${what}${fix === null ? '' : ` ${oneLine(fix)}`}`;
  return `${state === 'ended' ? 'ended' : 'the job restarted'} at step ${formatWhole(until_step ?? 0)}: ${what}`;
}
