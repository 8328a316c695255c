import { namedRanks } from '../../base/rank-ranges.js';
import type { Report } from '../../report/report.js';
import type { Finding, Risk } from '../../rules/kit/finding.js';
import { rankCount } from '../rank-count.js';
import { gain } from '../step-time.js';
import { codeLines } from './code.js';
import { bothEnds, hanging, oneLine, type Page, paragraph, same } from './page.js';
import { shorten } from './text.js';

const INDENT = '     ';
const EVIDENCE = 'evidence: ';
const NO_LABEL = ' '.repeat(EVIDENCE.length);
/** The strongest evidence comes first; `--all` shows the rest. */
const MAX_EVIDENCE = 3;

const RISK_NOTES: Readonly<Record<Risk, string | null>> = {
  none: null,
  memory: 'uses more memory',
  numerics: 'changes numerics: check that results are still right',
  data: 'changes what is fed to the model: check that results are still right',
};

/** A finding with its evidence and the code to paste. */
export function findingInFull(
  finding: Finding,
  number: number,
  report: Report,
  page: Page,
  all: boolean,
): string[] {
  const { c } = page;
  const shown = all ? finding.evidence : finding.evidence.slice(0, MAX_EVIDENCE);
  const more = finding.evidence.length - shown.length;
  const risk = RISK_NOTES[finding.risk];
  return [
    ...title(finding, number, report, page),
    ...shown.flatMap((e, i) => hanging(INDENT + (i === 0 ? EVIDENCE : NO_LABEL), e.text, page, c.dim)),
    ...(more > 0 ? [c.dim(`${INDENT}${NO_LABEL}and ${more} more (--all lists them)`)] : []),
    ...(finding.fix.code ? codeLines(finding.fix.code, page, INDENT).map(c.cyan) : []),
    ...(finding.fix.text ? paragraph(finding.fix.text, page, INDENT) : []),
    ...(risk ? paragraph(risk, page, INDENT, c.yellow) : []),
  ];
}

function title(finding: Finding, number: number, report: Report, page: Page): string[] {
  const { c } = page;
  const text = `${finding.title} (${finding.rule})${onRanks(finding, report)}`;
  const lines = hanging(numbered(number), text, page);
  return bothEnds(lines, price(finding, report), page, INDENT, { left: c.bold, right: c.green });
}

/** A finding further down the list: one line. */
export function findingInShort(finding: Finding, number: number, report: Report, page: Page): string[] {
  const right = finding.speedup === null ? finding.cost : price(finding, report);
  const room = page.width - INDENT.length - right.length - 2;
  const text = shorten(oneLine(`${finding.title} (${finding.rule})`), room);
  return bothEnds([numbered(number) + text], right, page, INDENT, { left: same, right: page.c.green });
}

/** As wide as `INDENT`. */
const numbered = (number: number) => `${String(number).padStart(3)}  `;

/** Advice on measuring wins back no time, so it has no gain to be unknown. */
const price = ({ cost, addresses, speedup }: Finding, report: Report) =>
  addresses === null ? cost : `${cost}  ${gain(speedup, report.step.ms)}`;

/** Names the ranks unless the finding is on all of them. */
function onRanks({ ranks }: Finding, report: Report): string {
  return ranks.length > 0 && ranks.length < rankCount(report) ? ` on ${namedRanks(ranks)}` : '';
}
