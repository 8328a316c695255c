import { printable } from '../../base/printable.js';
import { formatCount } from '../../base/units.js';
import type { TriageReport } from '../../report/triage-report.js';
import { bothEnds, hanging, pageFor, paragraph } from './page.js';

interface TriagePage {
  readonly color: boolean;
  readonly columns?: number | undefined;
}

/** The verdict, what it rests on, what to do. */
export function renderTriage(report: TriageReport, { color, columns }: TriagePage): string {
  const page = pageFor(color, columns);
  const { c } = page;
  const { bottleneck, confidence, label, headline, details } = report.verdict;
  const answer = `${label}: ${headline}`;
  const [word, paint] =
    confidence >= 0.8 ? ['high', c.green] : confidence >= 0.5 ? ['medium', c.yellow] : ['low', c.red];
  const lines = [
    // Without a decision there is nothing to be sure of.
    ...(bottleneck === 'unknown'
      ? paragraph(answer, page, '', c.bold)
      : bothEnds(paragraph(answer, page, ''), `confidence ${word}`, page, '  ', {
          left: c.bold,
          right: paint,
        })),
    ...details.flatMap((text) => paragraph(text, page, '  ', c.bold)),
    ...report.evidence.flatMap((text) => hanging('  - ', text, page)),
    '',
    ...paragraph(report.advice, page, '  '),
    ...(report.next.length > 0 ? ['', c.bold('Next:')] : []),
    // Not wrapped: it is there to be pasted.
    ...report.next.map((command) => `  $ ${printable(command)}`),
    ...(report.notes.length > 0 ? [''] : []),
    ...report.notes.flatMap((text) => hanging('  note: ', text, page, c.dim)),
    '',
    ...paragraph(basisOf(report), page, '  ', c.dim),
  ];
  return `${lines.join('\n')}\n`;
}

function basisOf({ seconds, processes, gpus, stacks }: TriageReport): string {
  const count = (role: string) => processes.filter((p) => p.role === role).length;
  const parts = [
    `watched for ${seconds} s`,
    count('trainer') > 0
      ? `${count('trainer')} training, ${count('worker')} worker processes`
      : formatCount(processes.length, 'process', 'processes'),
    `${gpus.length === 0 ? 'no GPU measured' : `GPU ${gpus.map((g) => g.index ?? '?').join(', ')}`}`,
    ...(stacks.length > 0 ? [`stacks of ${stacks.length}`] : []),
  ];
  return parts.join(' · ');
}
