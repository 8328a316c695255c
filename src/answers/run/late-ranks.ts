import type { Observed } from '../../diagnosis/observe.js';
import type { Remark } from '../kit/claim.js';
import { lateSentence } from '../kit/late-words.js';

/** The worst straggler, whatever limits the run. */
export function lateRanksRemark({ comparison }: Observed): Remark | null {
  const worst = comparison?.late[0];
  return worst ? { detail: lateSentence(worst), qualifies: null } : null;
}
