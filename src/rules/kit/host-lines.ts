import { formatWholePercent } from '../../base/units.js';
import type { HostLine } from '../../diagnosis/ranks/host-lines.js';
import type { Evidence } from './finding.js';

const MAX_LINES = 2;
/** Lines with less of the thread's time show nothing. */
const MIN_SHARE = 0.03;

/** The lines of the job that a fault comes from, as evidence. */
export function lineEvidence(
  pattern: RegExp | undefined,
  lines: readonly HostLine[],
  rank: number,
): Evidence[] {
  if (!pattern) return [];
  return lines
    .filter((line) => line.share >= MIN_SHARE && pattern.test([line.source, ...line.calls].join(' ')))
    .slice(0, MAX_LINES)
    .map(({ file, line, function: name, source, share }) => ({
      text: `${file}:${line} in ${name}, ${formatWholePercent(share)} of the thread’s time${source && `: ${source}`}`,
      value: share,
      unit: 'of the training thread’s time',
      rank,
      step: null,
      ts_ns: null,
      dur_ns: null,
    }));
}
