import { formatCount } from '../base/units.js';
import type { Report, ReportInput } from './report.js';

/** A file with several ranks is listed once for each. Its bytes are counted with the first. */
const isOtherRank = ({ path, bytes }: ReportInput) => bytes === 0 && path.includes('!');

export const countFiles = (inputs: readonly ReportInput[]): number =>
  inputs.filter((input) => !isOtherRank(input)).length;

/** `8 files`, `1 file with 2 ranks`. */
export function filesRead({ inputs, many_ranks }: Pick<Report, 'inputs' | 'many_ranks'>): string {
  if (many_ranks) return formatCount(many_ranks.files, 'file');
  const files = formatCount(countFiles(inputs), 'file');
  if (!inputs.some(isOtherRank)) return files;
  const ranks = inputs.filter(({ rank }) => rank !== null).length;
  return `${files} with ${formatCount(ranks, 'rank')}`;
}
