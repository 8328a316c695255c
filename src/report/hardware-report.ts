import { hardwareWords, isDone, kernelText } from '../answers/run/hardware.js';
import { toMs } from '../base/units.js';
import { hardwareOf } from '../diagnosis/ranks/hardware.js';
import type { RankView } from '../diagnosis/ranks/rank-view.js';
import type { Finding } from '../rules/kit/finding.js';
import type { ReportHardware } from './report.js';

const inTera = (perSecond: number) => perSecond / 1e12;
const inGiga = (perSecond: number) => perSecond / 1e9;

/** Enough to find it in the trace: names of templates run to thousands of letters. */
const MOST_LETTERS = 300;
const bounded = (name: string) => (name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS)}…` : name);

/** How far the decisive rank is from its hardware. Null: no GPU work was recorded. */
export function hardwareReport(view: RankView | null, findings: readonly Finding[]): ReportHardware | null {
  const found = view?.source === 'trace' ? hardwareOf(view) : null;
  if (!found || !view) return null;
  const gains = findings.flatMap(({ speedup }) => speedup?.likely ?? []);
  return {
    device: found.device,
    peaks: found.rates && `${found.rates.name}: ${found.rates.source}`,
    text: hardwareWords(found, view.step.unprofiled, gains),
    mfu: found.mfu,
    at_most: found.atMost,
    reachable: found.reachable,
    done: isDone(found, gains),
    gaps_ms: toMs(found.gaps),
    unknown: found.unknown,
    kinds: found.kinds.map((kind) => ({
      kind: kind.kind,
      precision: kind.precision,
      ms: toMs(kind.time),
      tflops: inTera(kind.flopsPerSecond),
      gbps: inGiga(kind.bytesPerSecond),
      of_peak: kind.ofPeak,
    })),
    kernels: found.kernels.map((use) => ({
      text: kernelText(use),
      operator: use.operator,
      kernel: bounded(use.kernel),
      shapes: use.shapes,
      ms: toMs(use.time),
      calls: use.calls,
      tflops: use.flopsPerSecond === null ? null : inTera(use.flopsPerSecond),
      gbps: use.bytesPerSecond === null ? null : inGiga(use.bytesPerSecond),
      bound: use.bound,
      of_limit: use.ofLimit,
    })),
  };
}
