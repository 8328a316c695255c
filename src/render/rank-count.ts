import type { Report } from '../report/report.js';

/** How many ranks were measured, listed or not. */
export const rankCount = ({ ranks, many_ranks }: Pick<Report, 'ranks' | 'many_ranks'>): number =>
  many_ranks?.ranks ?? ranks.length;
