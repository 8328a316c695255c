import { aloneWords } from '../../answers/kit/compile-words.js';
import { toSeconds } from '../../base/units.js';
import { about, use } from '../../remedies/remedies.js';
import { evidenceOf } from '../kit/evidence.js';
import { recompiled, recompileEvidence } from '../kit/recompile-log.js';
import { found, type RunRule, silent } from '../kit/rule.js';

export const rule: RunRule = {
  reads: 'run',
  unpriced: 'allowed',
  info: {
    id: 'compiles-alone',
    alias: 'W1',
    title: 'One rank compiles while the others wait',
    needs: 'the logs of all ranks of a job under TORCH_TRACE',
    looksFor: 'Time in which a rank compiles and at most half of the ranks do.',
    why: 'All ranks meet in every collective. A rank whose shapes change compiles again by itself, and all others wait for it.',
    ...about('fix-late-rank'),
    thresholds: [],
  },
  check({ evidence, job, ...run }) {
    const alone = evidence.compiling?.alone;
    if (!alone) return silent('no log shows a rank that compiles by itself');
    const took = toSeconds(alone.total);
    const { rank } = alone;
    return found({
      id: 'compiles-alone',
      title: `rank ${rank} compiles while the others wait`,
      confidence: 0.8,
      addresses: 'host',
      evidence: [
        evidenceOf(rank, aloneWords(alone), took, 's'),
        ...recompileEvidence(recompiled({ evidence, job, ...run }, rank), evidence.compiling),
      ],
      price: null,
      ranks: [rank],
      remedy: use('fix-late-rank', { ranks: [rank], cause: 'compile', phase: null, traced: false, job }),
    });
  },
};
