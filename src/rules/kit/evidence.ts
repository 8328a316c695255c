import { formatPercent, formatWholePercent, type Ns, ns, type Share, share, toMs } from '../../base/units.js';
import type { HostLine } from '../../diagnosis/ranks/host-lines.js';
import type { RankView, TraceView } from '../../diagnosis/ranks/rank-view.js';
import type { KernelTotal } from '../../traces/detail/kernel-table.js';
import type { Evidence } from './finding.js';
import { type Silent, silent, type Threshold } from './rule.js';

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
    .map((line) =>
      evidenceOf(
        rank,
        `${line.file}:${line.line} in ${line.function}, ${formatWholePercent(line.share)} of the thread’s time${line.source && `: ${line.source}`}`,
        line.share,
        'of the training thread’s time',
      ),
    );
}

/** `train.py:12 (x = load())`. */
export const lineText = ({ file, line, source }: HostLine): string =>
  `${file}:${line}${source && ` (${source})`}`;

/** One line that shows the fault, of no step and no moment. `rank`: null for evidence about the run. */
export const evidenceOf = (
  rank: number | null,
  text: string,
  value: number | null = null,
  unit: string | null = null,
): Evidence => ({ text, value, unit, rank, step: null, ts_ns: null, dur_ns: null });

/** The same for the rank of a view. */
export function evidence(
  view: RankView,
  text: string,
  value: number | null = null,
  unit: string | null = null,
): Evidence {
  const hasSteps = view.source === 'log' || view.divided.steps.source !== 'window';
  return evidenceOf(view.rank, hasSteps ? text : aboutRecording(text), value, unit);
}

/** In a recording without steps, a figure is of all of it. */
const aboutRecording = (text: string): string =>
  text
    .replaceAll(/ (?:per|a) step\b|, over 1 step\b/g, '')
    .replaceAll(/\b(of|in|from) the step\b/g, '$1 the recording')
    .replaceAll('the step is', 'it is');

/** Evidence whose figure is time per step. */
export const timeEvidence = (view: RankView, time: Ns, text: string): Evidence =>
  evidence(view, text, toMs(time), 'ms/step');

/** Evidence whose figure is a number of things a step: `countEvidence(view, 3, 'waits', …)`. */
export const countEvidence = (view: RankView, count: number, things: string, text: string): Evidence =>
  evidence(view, text, Math.round(count), `${things}/step`);

const MOST_LETTERS = 80;

/** A kernel's name: those of templates fill a page. */
export const shortened = (name: string): string =>
  name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS)}…` : name;

/** Where it can be seen in the trace, in ns from the first event. */
export interface Span {
  readonly ts: number;
  readonly dur: number;
  readonly step?: number;
}

/** Evidence with its position in the trace. Without a span it stays as it is. */
export function atSpan(span: Span | null | undefined, base: Evidence): Evidence {
  if (!span) return base;
  return {
    ...base,
    step: span.step ?? null,
    ts_ns: ns(Math.round(span.ts)),
    dur_ns: ns(Math.round(span.dur)),
  };
}

/** At the longest launch of a kernel. */
export const atKernel = (kernel: KernelTotal | undefined, base: Evidence): Evidence =>
  atSpan(kernel && { ts: kernel.longestTs, dur: kernel.longest }, base);

/** At the longest wait for a batch. */
export const atInputWait = ({ facts }: TraceView, base: Evidence): Evidence =>
  atSpan(facts.input.longest, base);

/** Time per step as a part of the step: `4.2%`. */
export const percentOfStep = (view: RankView, time: Ns): string =>
  formatPercent(share(time / view.step.unprofiled));

/** Silent when time per step is less than a share of the step: `input waits are 2.1% of the step`. */
export function silentBelow(
  view: RankView,
  time: Ns,
  least: Threshold<Share>,
  subject: string,
): Silent | undefined {
  if (time >= least.value * view.step.unprofiled) return undefined;
  return silent(`${subject} ${percentOfStep(view, time)} of the step`);
}

/** What a fix wins back that spares both GPU and host time: GPU time if computing is most of the step. */
export const gpuOrHost = ({ time, step }: RankView): 'gpu' | 'host' =>
  time.compute > 0.5 * step.unprofiled ? 'gpu' : 'host';
