import { namedRanks } from '../../base/rank-ranges.js';
import type { Risk } from '../../remedies/kit/remedy.js';
import type { Report } from '../../report/report.js';
import type { Evidence, Finding } from '../../rules/kit/finding.js';
import { rankCount } from '../rank-count.js';
import { gain } from '../step-time.js';
import { codeLines } from './code.js';
import { bothEnds, hanging, type Page, type Paint, paragraph, same } from './page.js';

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
    ...shown.flatMap((e, i) =>
      hanging(INDENT + (i === 0 ? EVIDENCE : NO_LABEL), ofRank(e, finding), page, c.dim),
    ),
    ...(more > 0 ? [c.dim(`${INDENT}${NO_LABEL}and ${more} more (--all lists them)`)] : []),
    ...(finding.fix.code ? codeLines(finding.fix.code, page, INDENT).map(c.cyan) : []),
    ...(finding.fix.text ? paragraph(finding.fix.text, page, INDENT) : []),
    ...(risk ? paragraph(risk, page, INDENT, c.yellow) : []),
  ];
}

function title(finding: Finding, number: number, report: Report, page: Page): string[] {
  const text = `${finding.title} (${finding.rule})${onRanks(finding, report)}`;
  return withPrice(hanging(numbered(number), text, page), price(finding, report), page, page.c.bold);
}

/** A finding further down the list: its title. */
export function findingInShort(finding: Finding, number: number, report: Report, page: Page): string[] {
  const right = finding.speedup === null ? finding.cost : price(finding, report);
  return withPrice(hanging(numbered(number), `${finding.title} (${finding.rule})`, page), right, page, same);
}

const withPrice = (lines: readonly string[], right: string, page: Page, left: Paint) =>
  bothEnds(lines, right, page, INDENT, { left, right: page.c.green });

/** As wide as `INDENT`. */
const numbered = (number: number) => `${String(number).padStart(3)}  `;

/** Advice on measuring wins back no time, so it has no gain to be unknown. */
const price = ({ cost, addresses, speedup }: Finding, report: Report) =>
  addresses === null ? cost : `${cost}  ${gain(speedup, report.step.ms)}`;

/** Names the ranks, unless the finding is on all of them or its title names them. */
function onRanks({ ranks, title }: Finding, report: Report): string {
  const named = namedRanks(ranks);
  return ranks.length > 0 && ranks.length < rankCount(report) && !title.includes(named) ? ` on ${named}` : '';
}

/** Of a finding on several ranks, the figures are those of one. */
function ofRank({ text, rank }: Evidence, { ranks }: Finding): string {
  return ranks.length < 2 || rank === null || /\branks? \d/.test(text) ? text : `rank ${rank}: ${text}`;
}
