import type { Strings } from '../common/trace-rows/row-tables.js';

/** The text of a name whose id is known. Names are few, events many. */
export class NameBook {
  readonly #texts: string[] = [''];

  constructor(readonly strings: Strings) {}

  text(id: number): string {
    this.#texts[id] ??= this.strings.text(id);
    return this.#texts[id];
  }
}
