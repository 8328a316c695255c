import type { Ns } from '../base/units.js';
import type { TimeClass } from './time-class.js';

/** Steps of a run became lastingly slower. */
export interface PaceChange {
  /** Number of the first recorded step that is slower. */
  readonly step: number;
  /** Usual steps before and after. */
  readonly before: Ns;
  readonly after: Ns;
  /** At once, and not little by little. */
  readonly isJump: boolean;
  /** What grew most. */
  readonly grew: { readonly class: TimeClass; readonly before: Ns; readonly after: Ns } | null;
}
