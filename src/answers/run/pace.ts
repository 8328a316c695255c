import { formatTime, formatWholePercent, share, toMs } from '../../base/units.js';
import type { Observed } from '../../diagnosis/observe.js';
import { type HostLine, hostLines } from '../../diagnosis/ranks/host-lines.js';
import type { RankView } from '../../diagnosis/ranks/rank-view.js';
import type { PaceChange } from '../../facts/job-time.js';
import { CLASS_NAMES } from '../../facts/time-class.js';
import type { Remark } from '../kit/claim.js';

const logOf = (view: RankView) => (view.source === 'log' ? view.facts : (view.log?.facts ?? null));

/** A line that holds the thread for less of the whole run does not explain why a part of it is slow. */
const HOLDS = 0.2;

/** Steps became slower while the job ran: from which step on, and what grew. */
export function paceRemark({ views, inputs }: Observed): Remark | null {
  const changed = views.flatMap((view) => {
    const facts = logOf(view);
    return facts?.change ? [{ view, facts, change: facts.change }] : [];
  });
  if (changed.length === 0) return null;
  const { view, facts, change } = changed.reduce((a, b) => (grown(b.change) > grown(a.change) ? b : a));
  const [line] = hostLines(inputs, view.rank);
  return {
    detail: paceWords(change, facts.steps.last, line ?? null, views.length > 1 ? view.rank : null),
    qualifies: null,
  };
}

const grown = ({ before, after }: PaceChange) => after - before;

function paceWords(change: PaceChange, last: number, line: HostLine | null, rank: number | null): string {
  const { step, before, after, isJump, grew } = change;
  const who = rank === null ? 'steps' : `steps of rank ${rank}`;
  const from = isJump
    ? `from about step ${step} of ${last} on`
    : `little by little, most from about step ${step} of ${last} on`;
  const what = grew
    ? `; ${CLASS_NAMES[grew.class]} grew most, from ${formatTime(toMs(grew.before))} to ${formatTime(toMs(grew.after))}`
    : '';
  const where =
    line && line.share >= HOLDS
      ? `; the line that held the thread most in the whole run (${formatWholePercent(share(line.share))}): ${line.file}:${line.line} ${line.function}`
      : '';
  return `The job became slower: ${who} took ${formatTime(toMs(before))}, and ${formatTime(toMs(after))} ${from}${what}${where}`;
}
