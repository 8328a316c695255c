import { signal } from '@preact/signals';
import type { Rgb } from './heat-grid.js';

/** Paper is light. */
const dark = matchMedia('screen and (prefers-color-scheme: dark)');

/** Changes when the system changes from light to dark: what is drawn on a canvas must be drawn again. */
export const colorScheme = signal(dark.matches ? 'dark' : 'light');
dark.addEventListener('change', () => {
  colorScheme.value = dark.matches ? 'dark' : 'light';
});

/** A color of theme.css, for a canvas. `_scheme` is passed so that callers follow it. */
export function colorOf(variable: string, _scheme: string): Rgb {
  const [, hex = '808080'] =
    /^#([0-9a-f]{6})$/i.exec(getComputedStyle(document.documentElement).getPropertyValue(variable).trim()) ??
    [];
  const channel = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16);
  return [channel(0), channel(2), channel(4)];
}
