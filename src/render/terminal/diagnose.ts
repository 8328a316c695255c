import type { Report } from '../../report/report.js';
import { findingInFull, findingInShort } from './diagnose-finding.js';
import { rankSection } from './diagnose-ranks.js';
import { plural, wrap } from './format.js';
import { gradePaint, healthProblem } from './health.js';
import { bothEnds, hanging, type Page, pageFor, paragraph, same } from './page.js';
import { stepSource, stepSplit } from './step-time.js';

export interface DiagnoseOptions {
  readonly color: boolean;
  /** Of the terminal; undefined where there is none. */
  readonly columns?: number | undefined;
  /** Everything in full: findings, ranks, problems, rules that did not fire. */
  readonly all?: boolean;
}

const FINDINGS_IN_FULL = 3;
const MAX_PROBLEMS = 3;
const MAX_IGNORED = 3;

/** The answer first, then what to do about it in order, then what it rests on. */
export function renderDiagnose(report: Report, options: DiagnoseOptions): string {
  const page = pageFor(options.color, options.columns);
  const all = options.all ?? false;
  const sections = [
    [...verdict(report, page), ...step(report, page)],
    next(report, page),
    ...findings(report, page, all),
    rankSection(report, page, all),
    all ? silentRules(report, page) : [],
    basis(report, page, all),
  ];
  const texts = sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}

function verdict(report: Report, page: Page): string[] {
  const { c } = page;
  const { confidence, sentence, second } = report.verdict;
  const [word, paint] =
    confidence >= 0.8 ? ['high', c.green] : confidence >= 0.5 ? ['medium', c.yellow] : ['low', c.red];
  const answer = paragraph(sentence, page, '');
  const lines = bothEnds(answer, `confidence ${word}`, page, '  ', { left: c.bold, right: paint });
  return second === null ? lines : [...lines, ...paragraph(`close behind: ${second}`, page, '  ')];
}

function step(report: Report, page: Page): string[] {
  const { step } = report;
  const source = stepSource(step);
  if (step.ms === null) return paragraph(`no whole step was seen${source && `; ${source}`}`, page, '  ');
  // A part and its figure stay together.
  const parts = `step ${stepSplit(step.ms, report.time)}`
    .replaceAll(' ', '\u00a0')
    .replaceAll('·\u00a0', '· ');
  const lines = wrap(`  ${parts}`, page.width, '    ').replaceAll('\u00a0', ' ').split('\n');
  return source ? bothEnds(lines, source, page, '  ', { left: same, right: page.c.dim }) : lines;
}

function next(report: Report, page: Page): string[] {
  if (report.verdict.next.length === 0) return [];
  const steps = report.verdict.next.flatMap((text) => hanging('  - ', text, page));
  return [page.c.bold('To know more, capture next:'), ...steps];
}

/** A section each for those in full, one for the rest. */
function findings(report: Report, page: Page, all: boolean): string[][] {
  const inFull = all ? report.findings.length : FINDINGS_IN_FULL;
  const full = report.findings
    .slice(0, inFull)
    .map((finding, i) => findingInFull(finding, i + 1, report, page, all));
  const rest = report.findings
    .slice(inFull)
    .flatMap((finding, i) => findingInShort(finding, inFull + i + 1, report, page));
  if (rest.length > 0) rest.push(page.c.dim('     (--all shows these in full)'));
  if (full.length === 0 && report.verdict.bottleneck !== 'unknown')
    return [paragraph('No fix that the evidence supports.', page, '  ')];
  return [...full, rest];
}

function silentRules(report: Report, page: Page): string[] {
  const lines = report.silent.flatMap(({ rule, reason }) =>
    hanging(`  ${rule.padEnd(4)} `, reason, page, page.c.dim),
  );
  return lines.length > 0 ? [page.c.bold('Looked at and not found'), ...lines] : [];
}

/** What the answer rests on: how good the input is, what was wrong with it, what was not used. */
function basis(report: Report, page: Page, all: boolean): string[] {
  const { c } = page;
  const { grade, problems } = report.health;
  const worth = all ? problems : problems.filter((p) => p.severity !== 'note').slice(0, MAX_PROBLEMS);
  const more = worth.length > 0 ? problems.length - worth.length : 0;
  const files = `  ${plural(report.inputs.length, 'file')} read, health `;
  return [
    c.dim(files) + gradePaint(grade, c)(grade),
    ...worth.flatMap((p) => healthProblem(p, report.ranks.length > 1, page)),
    ...(more > 0 ? [c.dim(`    and ${more} more (--all lists them)`)] : []),
    ...ignoredFiles(report, page, all),
  ];
}

function ignoredFiles(report: Report, page: Page, all: boolean): string[] {
  const { ignored } = report;
  if (ignored.length === 0) return [];
  const named = all ? ignored : ignored.slice(0, MAX_IGNORED);
  const more = ignored.length > named.length ? ', …' : '';
  const text = `${plural(ignored.length, 'file')} not used: ${named.join(', ')}${more}`;
  return paragraph(text, page, '  ', page.c.dim);
}
