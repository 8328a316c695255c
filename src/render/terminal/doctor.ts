import { printable } from '../../base/printable.js';
import { largest } from '../../base/statistics.js';
import type { DoctorReport } from '../../doctor/examine.js';
import { hanging, pageFor, paragraph } from './page.js';

/** One line for each check, and what to do below those that did not pass. */
export function renderDoctor(
  { checks, counts }: DoctorReport,
  { color, columns }: { readonly color: boolean; readonly columns?: number | undefined },
): string {
  const page = pageFor(color, columns);
  const { c } = page;
  const paint = { pass: c.green, warn: c.yellow, fail: c.red, skip: c.dim } as const;
  const width = largest(checks.map((check) => check.title.length));
  const lines = checks.flatMap(({ status, title, value, advice }) => [
    ...hanging(`${status}  ${title.padEnd(width)}  `, printable(value), page, paint[status]),
    ...(advice === null ? [] : paragraph(printable(advice), page, ' '.repeat(width + 8))),
  ]);
  const rest = `${counts.fail} to fix, ${counts.warn} to look at, ${counts.pass} fine, ${counts.skip} not checked`;
  return `${[...lines, '', `  ${rest}`].join('\n')}\n`;
}
