import type { LintFinding, LintReport } from '../../lint/kit/finding.js';
import { hanging, oneLine, type Page, pageFor, paragraph } from './page.js';
import { displayWidth, shorten } from './text.js';

/** Findings in the order of the files, each with its line, the reason and the fix. */
export function renderLint(
  { findings, files }: LintReport,
  { color, columns }: { readonly color: boolean; readonly columns?: number | undefined },
): string {
  const page = pageFor(color, columns);
  const [first] = findings;
  const advice = first
    ? `\`whyslow rules ${first.id}\` explains a rule. \`# whyslow: ignore[${first.rule}]\` on the line turns it off.`
    : null;
  const lines = [
    ...findings.flatMap((finding) => renderFinding(finding, page)),
    ...files.flatMap(({ path, problems }) => problems.flatMap((p) => paragraph(`${path}: ${p}.`, page, ''))),
    ...paragraph(summary(findings, files), page, ''),
    ...(advice ? paragraph(advice, page, '', page.c.dim) : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** `train.py:41:16`, `train.ipynb, cell 3:4:1`. */
const placeOf = ({ file, cell, line, column }: LintFinding): string =>
  `${file}${cell === null ? '' : `, cell ${cell}`}:${line}:${column}`;

/** The place stays in one piece: terminals and editors open it on a click. */
function titleOf(finding: LintFinding, page: Page): string[] {
  const place = oneLine(placeOf(finding));
  const rule = `  ${finding.rule} ${finding.id}`;
  const fits = displayWidth(place) + rule.length <= page.width;
  return fits ? [page.c.bold(place) + rule] : [page.c.bold(place), rule];
}

function renderFinding(finding: LintFinding, page: Page): string[] {
  return [
    ...titleOf(finding, page),
    page.c.dim(`    ${shorten(oneLine(finding.source), page.width - 4)}`),
    ...paragraph(finding.message, page, '  '),
    ...hanging('  fix: ', finding.fix, page),
    '',
  ];
}

function summary(findings: readonly LintFinding[], files: LintReport['files']): string {
  const ignored = files.reduce((sum, file) => sum + file.ignored, 0);
  const faulty = files.filter((file) => file.findings > 0).length;
  const inFiles = `${faulty} of ${plural(files.length, 'file')}`;
  const found =
    findings.length === 0
      ? `No faults found in ${plural(files.length, 'file')}`
      : `${plural(findings.length, 'finding')} in ${inFiles}`;
  return `${found}${ignored > 0 ? `, ${ignored} more turned off by comments` : ''}.`;
}

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;
