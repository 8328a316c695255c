import type { RemedyId } from '../remedies/fixes/list.js';

/** A fix as it is applied in a turn. */
export interface Change {
  readonly fix: RemedyId;
  /** Of a fix with a number. Null: its own default. */
  readonly value: number | null;
}

/** Fixes joined by ` + `, with their numbers. */
export const variantOf = (changes: readonly Change[]): string =>
  changes.map(({ fix, value }) => (value === null ? fix : `${fix}=${value}`)).join(' + ');

export const together = (ids: readonly string[]) => ids.join(' + ');
