import { namedRanks } from '../../base/rank-ranges.js';
import { largest } from '../../base/statistics.js';
import { formatCount, formatWholePercent } from '../../base/units.js';
import type { Cost, Risk } from '../../remedies/kit/remedy.js';
import { filesRead } from '../../report/files-read.js';
import type { Report } from '../../report/report.js';
import type { Evidence, Finding } from '../../rules/kit/finding.js';
import { moneyLines, savedPerDay } from '../money.js';
import { gain, jobSplit, noFix, rankCount, stepLabel, stepSource, stepSplit } from '../step-time.js';
import { rankSection } from './diagnose-ranks.js';
import { hardwareSection } from './hardware.js';
import { incidentSection } from './incidents.js';
import {
  bothEnds,
  codeLines,
  gradePaint,
  hanging,
  healthProblem,
  oneLine,
  type Page,
  type Paint,
  pageFor,
  paragraph,
  same,
} from './page.js';
import { wrap } from './text.js';

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
function findingInFull(finding: Finding, number: number, report: Report, page: Page, all: boolean): string[] {
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
    ...furtherFix(finding, report, page),
    ...(risk ? paragraph(risk, page, INDENT, c.yellow) : []),
  ];
}

/** The second level of a fix, with the gain of both. */
function furtherFix({ further }: Finding, report: Report, page: Page): string[] {
  if (!further) return [];
  const { c } = page;
  const lines = hanging(INDENT, `A step further: ${further.title}`, page);
  return [
    ...bothEnds(lines, gain(further.speedup, report.step.ms), page, INDENT, { left: same, right: c.green }),
    ...(further.fix.code ? codeLines(further.fix.code, page, INDENT).map(c.cyan) : []),
  ];
}

function title(finding: Finding, number: number, report: Report, page: Page): string[] {
  const text = `${finding.title} (${finding.rule})${onRanks(finding, report)}`;
  return withPrice(hanging(numbered(number), text, page), price(finding, report), page, page.c.bold);
}

/** A finding further down the list: its title. */
function findingInShort(finding: Finding, number: number, report: Report, page: Page): string[] {
  const right = finding.speedup === null ? finding.cost : price(finding, report);
  return withPrice(hanging(numbered(number), `${finding.title} (${finding.rule})`, page), right, page, same);
}

const withPrice = (lines: readonly string[], right: string, page: Page, left: Paint) =>
  bothEnds(lines, right, page, INDENT, { left, right: page.c.green });

/** As wide as `INDENT`. */
const numbered = (number: number) => `${String(number).padStart(3)}  `;

/** Advice on measuring wins back no time, so it has no gain to be unknown. */
function price({ id, cost, addresses, speedup }: Finding, report: Report): string {
  const saved = savedPerDay(report, id);
  return addresses === null
    ? cost
    : `${cost}  ${gain(speedup, report.step.ms)}${saved === '' ? '' : `, ${saved}`}`;
}

/** Names the ranks, unless the finding is on all of them or its title names them. */
function onRanks({ ranks, title }: Finding, report: Report): string {
  const named = namedRanks(ranks);
  return ranks.length > 0 && ranks.length < rankCount(report) && !title.includes(named) ? ` on ${named}` : '';
}

/** Of a finding on several ranks, the figures are those of one. */
function ofRank({ text, rank }: Evidence, { ranks }: Finding): string {
  return ranks.length < 2 || rank === null || /\branks? \d/.test(text) ? text : `rank ${rank}: ${text}`;
}

const MAX_LINES = 5;
/** Smaller shares are not worth a line. */
const MIN_SHARE = 0.03;

/** Which lines of the job hold the training thread. Empty if it was not sampled. */
function hostLineSection({ host_lines: lines }: Report, page: Page, all: boolean): string[] {
  const shown = all ? lines : lines.filter((line) => line.share >= MIN_SHARE).slice(0, MAX_LINES);
  if (shown.length === 0) return [];
  return [
    page.c.bold('Where the training thread spends its time'),
    ...shown.flatMap(({ share, file, line, function: name, source, calls }) => {
      const what = source || calls[0] || '';
      return hanging(
        `  ${formatWholePercent(share).padStart(5)}  `,
        `${file}:${line} ${name}${what && `  ${what}`}`,
        page,
      );
    }),
  ];
}

export interface DiagnosePage {
  readonly color: boolean;
  /** Width of the terminal. Undefined when the output is not a terminal. */
  readonly columns?: number | undefined;
  /** Show all findings, ranks and problems in full, and the rules that did not fire. */
  readonly all?: boolean;
}

const FINDINGS_IN_FULL = 3;
const MAX_PROBLEMS = 3;
const MAX_IGNORED = 3;
/** A note, but who passes two traces must see that one was not used. */
const NOT_ANALYZED = 'other-window';

/** The verdict first, then what to do about it, then what it is based on. */
export function renderDiagnose(report: Report, { color, columns, all = false }: DiagnosePage): string {
  const page = pageFor(color, columns);
  const sections = [
    [...verdict(report, page), ...job(report, page), ...step(report, page), ...money(report, page)],
    next(report, page),
    incidentSection(report, page, all),
    ...findings(report, page, all),
    hardwareSection(report, page, all),
    hostLineSection(report, page, all),
    rankSection(report, page, all),
    runSection(report, page),
    all ? silentRules(report, page) : [],
    basis(report, page, all),
    terms(report, page),
  ];
  const texts = sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}

function verdict(
  { verdict: { confidence, label, headline, details, second } }: Report,
  page: Page,
): string[] {
  const { c } = page;
  const [word, paint] =
    confidence >= 0.8 ? ['high', c.green] : confidence >= 0.5 ? ['medium', c.yellow] : ['low', c.red];
  const answer = paragraph(`${label}: ${headline}`, page, '');
  return [
    ...bothEnds(answer, `confidence ${word}`, page, '  ', { left: c.bold, right: paint }),
    ...details.flatMap((text) => paragraph(text, page, '  ', c.bold)),
    ...(second === null ? [] : paragraph(`close second: ${second}`, page, '  ')),
  ];
}

function job(report: Report, page: Page): string[] {
  const split = jobSplit(report.job);
  return split === '' ? [] : wrapParts(oneLine(split), page);
}

/** Non-breaking spaces keep a part and its figure on one line. */
function wrapParts(parts: string, page: Page): string[] {
  const joined = parts.replaceAll(' ', '\u00a0').replaceAll('·\u00a0', '· ');
  return wrap(`  ${joined}`, page.width, '    ').replaceAll('\u00a0', ' ').split('\n');
}

function step(report: Report, page: Page): string[] {
  const { step, time } = report;
  const source = stepSource(report);
  if (step.ms === null)
    return paragraph(`no complete step was recorded${source && `; ${source}`}`, page, '  ');
  const asRecorded =
    step.profiled_ms !== null && step.profiled_time !== null
      ? [`as recorded ${stepSplit(step.profiled_ms, step.profiled_time)}`]
      : [];
  const lines = [`${stepLabel(step)} ${stepSplit(step.ms, time, step.parts)}`, ...asRecorded].flatMap(
    (text) => wrapParts(oneLine(text), page),
  );
  const told = source ? bothEnds(lines, source, page, '  ', { left: same, right: page.c.dim }) : lines;
  if (!step.iteration) return told;
  return [...told, ...paragraph(`a step here is one iteration: ${step.iteration.text}`, page, '  ')];
}

const money = (report: Report, page: Page): string[] =>
  moneyLines(report).flatMap((text) => paragraph(text, page, '  '));

function next({ verdict }: Report, page: Page): string[] {
  if (verdict.next.length === 0) return [];
  const items = verdict.next.flatMap((text) => hanging('  - ', text, page));
  const isOpen = verdict.bottleneck === 'unknown';
  return [page.c.bold(isOpen ? 'To get an answer:' : 'Do next:'), ...items];
}

/** One section for each finding in full, and one for the rest. */
function findings(report: Report, page: Page, all: boolean): string[][] {
  const { bottleneck, next } = report.verdict;
  if (report.findings.length === 0 && bottleneck !== 'unknown' && next.length === 0)
    return [paragraph(noFix(report), page, '  ')];
  const inFull = all ? report.findings.length : FINDINGS_IN_FULL;
  const full = report.findings.slice(0, inFull).map((f, i) => findingInFull(f, i + 1, report, page, all));
  const rest = report.findings
    .slice(inFull)
    .flatMap((f, i) => findingInShort(f, inFull + i + 1, report, page));
  if (rest.length > 0) rest.push(page.c.dim('     (--all shows these in full)'));
  return [...full, rest];
}

function silentRules({ silent }: Report, page: Page): string[] {
  const width = largest(silent.map(({ rule }) => rule.length));
  const lines = silent.flatMap(({ rule, reason }) =>
    hanging(`  ${rule.padEnd(width)}  `, reason, page, page.c.dim),
  );
  return lines.length > 0 ? [page.c.bold('Rules that did not fire'), ...lines] : [];
}

/** Nothing for a single run. */
function runSection({ runs }: Report, page: Page): string[] {
  if (runs.length < 2) return [];
  const lines = runs.flatMap(({ id, command, started, analyzed }) => {
    const details = [id, started?.slice(0, 19).replace('T', ' '), command].filter(Boolean).join('  ');
    return hanging(`  ${analyzed ? '→' : ' '} `, details, page, analyzed ? same : page.c.dim);
  });
  return [page.c.bold('These files are of several runs (--run chooses one)'), ...lines];
}

/** How good the input is, what was wrong with it, and which files were not used. */
function basis(report: Report, page: Page, all: boolean): string[] {
  const { c } = page;
  const { grade, problems } = report.health;
  const shown = all
    ? problems
    : problems.filter((p) => p.severity !== 'note' || p.code === NOT_ANALYZED).slice(0, MAX_PROBLEMS);
  const more = shown.length > 0 ? problems.length - shown.length : 0;
  return [
    c.dim(`  ${filesRead(report)} read, health `) + gradePaint(grade, c)(grade),
    ...shown.flatMap((p) => healthProblem(p, report.ranks.length > 1, page)),
    ...(more > 0 ? [c.dim(`    and ${more} more (--all lists them)`)] : []),
    ...ignoredFiles(report, page, all),
  ];
}

const COST_WORDS: Readonly<Record<Cost, string>> = {
  free: 'a flag at start-up',
  knob: 'an argument',
  code: 'an edit',
  hardware: 'other hardware',
};

/** What the short words on the page mean: the costs that occur, rule numbers, and health if it is not good. */
function terms({ findings, health }: Report, page: Page): string[] {
  const costs = COSTS_IN_ORDER.filter((cost) => findings.some((f) => f.cost === cost));
  const rule = findings[0]?.rule;
  const words = [
    ...costs.map((cost) => `${cost}: ${COST_WORDS[cost]}`),
    ...(rule ? [`\`whyslow rules ${rule}\` explains ${rule}`] : []),
    ...(health.grade === 'good' ? [] : ['health: how well the recording shows the job']),
  ];
  return words.length === 0 ? [] : paragraph(words.join(' · '), page, '  ', page.c.dim);
}

const COSTS_IN_ORDER = ['free', 'knob', 'code', 'hardware'] as const;

function ignoredFiles({ ignored }: Report, page: Page, all: boolean): string[] {
  if (ignored.length === 0) return [];
  const named = all ? ignored : ignored.slice(0, MAX_IGNORED);
  const more = ignored.length > named.length ? ', …' : '';
  const text = `${formatCount(ignored.length, 'other file')} ignored: ${named.join(', ')}${more}`;
  return paragraph(text, page, '  ', page.c.dim);
}
