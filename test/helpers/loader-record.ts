import { UNKNOWN_LOADER } from '../../src/diagnosis/ranks/rank-activity.js';
import type { CapturedLoader } from '../../src/diagnosis/run-facts.js';

/** A DataLoader of which only what is given is known. */
export const loaderRecord = (known: Partial<CapturedLoader>): CapturedLoader => ({
  ...UNKNOWN_LOADER,
  ...known,
});
