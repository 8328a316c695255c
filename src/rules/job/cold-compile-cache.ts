import { formatCount, formatDuration, formatPercent, seconds, share, toSeconds } from '../../base/units.js';
import { about } from '../../remedies/remedies.js';
import { evidenceOf } from '../kit/evidence.js';
import { recompiled } from '../kit/recompile-log.js';
import { found, type RunRule, silent, threshold } from '../kit/rule.js';

const COMPILING = threshold('time compiling', seconds(30), 's', 'a start of less is soon repaid');
const MISSED = threshold(
  'lookups that miss the cache',
  share(0.5),
  'of all',
  'with a warm cache hardly any do',
);

export const rule: RunRule = {
  reads: 'run',
  unpriced: 'allowed',
  info: {
    id: 'cold-compile-cache',
    alias: null,
    title: 'Compiled code does not come from the cache',
    needs: 'the log of a job under TORCH_TRACE',
    looksFor: 'Compilations that take long and are not found in the cache of compiled graphs.',
    why: 'torch.compile keeps compiled code in a folder, by default in /tmp. A new container or machine starts with an empty one, and every start compiles all of it again.',
    ...about('keep-compile-cache'),
    thresholds: [COMPILING, MISSED],
  },
  check(run) {
    const { compiling } = run.evidence;
    const slowest = compiling?.ranks[0];
    if (!slowest) return silent('no torch.compile log has times');
    if (recompiled(run, null).length > 0)
      return silent('functions are compiled again and again: that comes first');
    const took = toSeconds(slowest.total);
    if (took < COMPILING.value) return silent(`compiling took only ${formatDuration(took)}`);
    const { hits, misses, bypasses, bypassReason } = slowest.cache;
    const lookups = hits + misses;
    if (lookups === 0) return silent('the log shows no lookup in the cache');
    const missed = share(misses / lookups);
    if (missed < MISSED.value) return silent(`${formatPercent(missed)} of the lookups missed the cache`);
    return found({
      id: 'cold-compile-cache',
      title: `${formatDuration(took)} of compiling at every start, unless the cache is kept`,
      confidence: 0.5,
      addresses: 'host',
      evidence: [
        evidenceOf(
          slowest.rank,
          `${misses} of ${formatCount(lookups, 'lookup')} missed the cache of compiled graphs, as at the first start of a job`,
        ),
        ...(bypasses > 0
          ? [
              evidenceOf(
                slowest.rank,
                `${formatCount(bypasses, 'graph')} cannot be cached${bypassReason === null ? '' : `: ${bypassReason}`}`,
              ),
            ]
          : []),
      ],
      price: null,
      ranks: slowest.rank === null ? [] : [slowest.rank],
    });
  },
};
