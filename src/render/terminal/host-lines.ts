import { formatWholePercent } from '../../base/units.js';
import type { Report } from '../../report/report.js';
import { hanging, type Page } from './page.js';

const MAX_LINES = 5;
/** Smaller shares are not worth a line. */
const MIN_SHARE = 0.03;

/** Which lines of the job hold the training thread. Empty if it was not sampled. */
export function hostLineSection({ host_lines: lines }: Report, page: Page, all: boolean): string[] {
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
