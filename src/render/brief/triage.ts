import type { TriageReport } from '../../report/triage-report.js';
import { briefText, firstOf } from './lines.js';

const MOST_PROCESSES = 8;

/** A running job's verdict as a few lines for a chat. */
export function briefTriage({
  verdict,
  evidence,
  advice,
  next,
  notes,
  seconds,
  stacks,
}: TriageReport): string {
  const { label, headline, details, bottleneck, cause, confidence } = verdict;
  return briefText([
    `${label}: ${headline} [${bottleneck}/${cause}, confidence ${confidence}]`,
    ...details,
    ...evidence.map((text) => `evidence: ${text}`),
    advice,
    ...next.map((command) => `next: ${command}`),
    ...firstOf(
      stacks,
      MOST_PROCESSES,
      (s) => `stack of ${s.name} (pid ${s.pid}): ${s.stuck ? 'stuck' : 'moving'} at ${s.place}`,
    ),
    ...notes.map((text) => `note: ${text}`),
    `watched for ${seconds} s`,
  ]);
}
