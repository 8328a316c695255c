import type { Labels } from './raster.js';
import { visibleMarks } from './visible-marks.js';

const PADDING = 4;
const FONT = '11px system-ui, sans-serif';
const DARK = '#14161a';
const LIGHT = '#ffffff';

/** A text and what fits of it. */
interface Measured {
  readonly text: string;
  readonly width: number;
  cut: string;
  cutLength: number;
}

/** Writes labels cut to the width of their slice. Widths are measured once for each text. */
export class LabelWriter {
  readonly #known = new Map<string, Measured>();

  write(context: CanvasRenderingContext2D, labels: Labels): void {
    context.font = FONT;
    context.textBaseline = 'middle';
    // Twice, because a change of color costs more than a label.
    for (let dark = 0; dark < 2; dark++) {
      context.fillStyle = dark ? DARK : LIGHT;
      for (let i = 0; i < labels.count; i++) {
        if (labels.dark[i] !== dark) continue;
        const room = labels.width[i]! - 2 * PADDING;
        this.clipped(context, labels.text[i]!, labels.x[i]! + PADDING, labels.y[i]! + 8.5, room);
      }
    }
  }

  /** As much of the text as fits. `font` tells texts of other fonts apart. */
  clipped(
    context: CanvasRenderingContext2D,
    text: string,
    x: number,
    y: number,
    room: number,
    font = '',
  ): void {
    const key = font === '' ? text : font + text;
    let known = this.#known.get(key);
    if (!known) {
      if (this.#known.size > 20_000) this.#known.clear();
      const shown = visibleMarks(text);
      known = { text: shown, width: context.measureText(shown).width, cut: shown, cutLength: shown.length };
      this.#known.set(key, known);
    }
    const { text: whole } = known;
    if (known.width <= room) return context.fillText(whole, x, y);
    const length = Math.floor((room / known.width) * whole.length) - 1;
    // Two letters say nothing.
    if (length < 4) return;
    if (known.cutLength !== length) {
      known.cut = `${whole.slice(0, length)}…`;
      known.cutLength = length;
    }
    context.fillText(known.cut, x, y);
  }
}
