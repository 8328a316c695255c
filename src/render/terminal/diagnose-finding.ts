import { namedRanks } from '../../base/rank-ranges.js';
import type { Report } from '../../report/report.js';
import type { Finding, Risk } from '../../rules/kit/finding.js';
import { codeLines } from './code.js';
import { shorten } from './format.js';
import { bothEnds, hanging, oneLine, type Page, paragraph, same } from './page.js';
import { gain } from './step-time.js';

const INDENT = '     ';
const EVIDENCE = 'evidence: ';
const NO_LABEL = ' '.repeat(EVIDENCE.length);
/** The strongest come first; `--all` shows the rest. */
const MAX_EVIDENCE = 3;

const RISK_NOTES: Readonly<Record<Risk, string | null>> = {
  none: null,
  memory: 'it takes more memory',
  numerics: 'it changes numerics: check that the result is still right',
  data: 'it changes what is fed to the model: check that the result is still right',
};

/** A finding with its evidence and what to paste. */
export function findingInFull(
  finding: Finding,
  place: number,
  report: Report,
  page: Page,
  all: boolean,
): string[] {
  const { c } = page;
  const shown = all ? finding.evidence : finding.evidence.slice(0, MAX_EVIDENCE);
  const more = finding.evidence.length - shown.length;
  const risk = RISK_NOTES[finding.risk];
  return [
    ...title(finding, place, report, page),
    ...shown.flatMap((e, i) => hanging(INDENT + (i === 0 ? EVIDENCE : NO_LABEL), e.text, page, c.dim)),
    ...(more > 0 ? [c.dim(`${INDENT}${NO_LABEL}and ${more} more (--all lists them)`)] : []),
    ...(finding.fix.code ? codeLines(finding.fix.code, page, INDENT).map(c.cyan) : []),
    ...(finding.fix.text ? paragraph(finding.fix.text, page, INDENT) : []),
    ...(risk ? paragraph(risk, page, INDENT, c.yellow) : []),
  ];
}

function title(finding: Finding, place: number, report: Report, page: Page): string[] {
  const { c } = page;
  const [first, ...rest] = paragraph(
    `${finding.title} (${finding.rule})${onRanks(finding, report)}`,
    page,
    INDENT,
  );
  const lines = [number(place) + first!.slice(INDENT.length), ...rest];
  return bothEnds(lines, price(finding, report), page, INDENT, { left: c.bold, right: c.green });
}

/** A finding further down the list: one line. */
export function findingInShort(finding: Finding, place: number, report: Report, page: Page): string[] {
  const right = finding.speedup === null ? finding.cost : price(finding, report);
  const room = page.width - number(place).length - right.length - 2;
  const text = shorten(oneLine(`${finding.title} (${finding.rule})`), room);
  return bothEnds([number(place) + text], right, page, INDENT, { left: same, right: page.c.green });
}

function number(place: number): string {
  return `${String(place).padStart(3)}  `;
}

function price(finding: Finding, report: Report): string {
  return `${finding.cost}  ${gain(finding.speedup, report.step.ms)}`;
}

/** Only where it is not all of them. */
function onRanks(finding: Finding, report: Report): string {
  const some = finding.ranks.length > 0 && finding.ranks.length < report.ranks.length;
  return some ? ` on ${namedRanks(finding.ranks)}` : '';
}
