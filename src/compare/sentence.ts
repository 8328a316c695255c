import { formatCount, type Share } from '../base/units.js';
import type { StepComparison } from './step-times/step-comparison.js';

/** From this factor on, percent are hard to read. */
const AS_FACTOR = 1.5;
/** An interval that reaches this factor is too wide to be useful. */
const USELESS = 10;

/** `12.4% faster, 95% between 10.9 and 13.8%: not noise`. `per`: `''`, or ` per sample`. */
export function stepSentence(comparison: StepComparison, level: Share, per: string): string {
  const { speedup, verdict } = comparison;
  const sure = `${Math.round(100 * level)}%`;
  if (verdict === 'same')
    return `No difference${per}: between ${change(speedup.low)} and ${change(speedup.high)} (${sure})`;
  if (verdict === 'cannot-tell') return cannotTell(comparison, sure, per);
  return `${change(speedup.likely)}${per}, ${sure} between ${ends(comparison)}: not noise`;
}

function ends({ speedup, verdict }: StepComparison): string {
  const [from, to] = verdict === 'faster' ? [speedup.low, speedup.high] : [speedup.high, speedup.low];
  if (asFactor(speedup.likely)) return `${factor(from)}× and ${factor(to)}×`;
  return `${percent(from)} and ${percent(to)}%`;
}

function cannotTell(
  { speedup, spread, drift, moreSteps, moreRuns }: StepComparison,
  sure: string,
  per: string,
) {
  const seen = percent(speedup.likely) === percent(1) ? 'No difference seen' : change(speedup.likely);
  const isUseful = Math.max(speedup.high, 1 / speedup.low) < USELESS;
  const range = isUseful ? ` (${sure} between ${change(speedup.low)} and ${change(speedup.high)})` : '';
  const why =
    spread !== null
      ? `runs of the same side differ by ${(100 * spread).toFixed(1)}%`
      : drift > 0
        ? `the machine drifted by ${(100 * drift).toFixed(1)}% meanwhile`
        : 'that may be noise';
  return `${seen}${per}, but ${why}${range}: inconclusive; ${advice(moreSteps, moreRuns)}`;
}

function advice(moreSteps: number | null, moreRuns: number | null): string {
  if (moreSteps !== null) return `record ${formatCount(moreSteps, 'more step')} on each side`;
  if (moreRuns !== null) return `record ${moreRuns} runs on each side`;
  return 'this machine is too noisy to show a difference this small';
}

const asFactor = (speedup: number) => Math.abs(Math.log(speedup)) >= Math.log(AS_FACTOR);
const factor = (speedup: number) => {
  const ratio = Math.max(speedup, 1 / speedup);
  return ratio.toFixed(ratio >= 10 ? 1 : 2);
};
/** Time saved, as a share of the time before; or time added. */
const percent = (speedup: number) => (100 * Math.abs(1 / speedup - 1)).toFixed(1);

/** `12.4% faster`, `5.0% slower`, `1.90× faster`, `2.10× slower`. */
export function change(speedup: number): string {
  const isFaster = speedup >= 1;
  if (!asFactor(speedup)) return `${percent(speedup)}% ${isFaster ? 'faster' : 'slower'}`;
  return isFaster ? `${factor(speedup)}× faster` : `${factor(speedup)}× slower`;
}
