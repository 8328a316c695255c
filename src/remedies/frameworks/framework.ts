import type { ArgsOf, RemedyId } from '../fixes/list.js';
import type { Layout } from '../kit/layout.js';
import type { Spelled } from '../kit/remedy.js';

/** How remedies are spelled in one framework: a column of the catalog. */
export interface Framework extends Layout {
  /** As capture, `try` and lint name it. */
  readonly id: string;
  readonly name: string;
  /** Python modules whose calls show that it runs the training loop. Generated for the capture. */
  readonly modules: readonly string[];
  /** Remedies with a setting of its own. All others are spelled as in plain PyTorch. */
  readonly spell: { readonly [Id in RemedyId]?: Spelled | ((args: ArgsOf<Id>) => Spelled) };
}
