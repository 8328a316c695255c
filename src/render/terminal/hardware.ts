import type { Report } from '../../report/report.js';
import { hanging, type Page, paragraph } from './page.js';

/** How far the step is from what its GPU can do. Empty: the GPU does not limit it. */
export function hardwareSection({ hardware, verdict }: Report, page: Page, all: boolean): string[] {
  if (!hardware || !(all || verdict.bottleneck === 'gpu')) return [];
  return [
    page.c.bold('How far from the hardware'),
    ...hardware.text.flatMap((text) => paragraph(`${text}.`, page, '  ')),
    ...(hardware.kernels.length > 0
      ? [`  ${hardware.kinds.length > 0 ? 'To look at:' : 'What takes most time:'}`]
      : []),
    ...hardware.kernels.flatMap(({ text }) => hanging('  - ', text, page)),
  ];
}
