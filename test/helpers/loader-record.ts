import { UNKNOWN_LOADER } from '../../src/diagnosis/ranks/rank-activity.js';
import type { CapturedLoader } from '../../src/diagnosis/run-facts.js';

/** A DataLoader with only the given fields known. */
export const loaderRecord = (known: Partial<CapturedLoader>): CapturedLoader => ({
  ...UNKNOWN_LOADER,
  ...known,
});

/** Of a run: what capture recorded about rank 0's only DataLoader. */
export const withLoader = (known: Partial<CapturedLoader>, allowed = 4) => ({
  captured: new Map([[0, { cores: { allowed, quota: null, ranks: 1 }, loader: loaderRecord(known) }]]),
});
