import { PAINTS, type PaintName, SHADES } from '../../src/drawing/paint.js';

/** Slices that stand for many short ones are drawn as strong as they are busy, in so many grades. */
const GRADES = 4;

/** All colors of the canvas. `fills` are pixels as an ImageData holds them: `fills[byte * GRADES + grade]`. */
export interface Palette {
  readonly fills: Uint32Array;
  /** The same, darker: where one slice ends. */
  readonly edges: Uint32Array;
  /** 1: labels on it are dark. */
  readonly darkText: Uint8Array;
  readonly background: Uint32Array;
  readonly css: Readonly<Record<CssColor, string>>;
}

type CssColor = 'bg' | 'panel' | 'text' | 'muted' | 'line' | 'accent' | 'mark';
const CSS: readonly CssColor[] = ['bg', 'panel', 'text', 'muted', 'line', 'accent', 'mark'];

/** Only names differ in shade: classes have one color each. */
const SHADED: readonly PaintName[] = ['matrix', 'kernel', 'operator', 'annotation', 'python', 'runtime'];

type Rgb = readonly [number, number, number];

/** Reads the colors of the theme, which change with the system's. */
export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const probe = document.createElement('canvas');
  probe.width = 1;
  probe.height = 1;
  const context = probe.getContext('2d', { willReadFrequently: true })!;
  const rgbOf = (name: string): Rgb => {
    context.fillStyle = '#888';
    context.fillStyle = style.getPropertyValue(name).trim() || '#888';
    context.fillRect(0, 0, 1, 1);
    const [r = 0, g = 0, b = 0] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b];
  };
  const panel = rgbOf('--panel');
  const fills = new Uint32Array(PAINTS.length * SHADES * GRADES);
  const edges = new Uint32Array(fills.length);
  const darkText = new Uint8Array(PAINTS.length * SHADES);
  PAINTS.forEach((name, p) => {
    const base = rgbOf(`--c-${name.replaceAll('_', '-')}`);
    for (let shade = 0; shade < SHADES; shade++) {
      const color = SHADED.includes(name) ? shaded(base, shade) : base;
      const byte = p * SHADES + shade;
      darkText[byte] = Number(luminance(color) > 0.3);
      for (let grade = 0; grade < GRADES; grade++) {
        const mixed = mix(panel, color, 0.4 + (0.6 * (grade + 1)) / GRADES);
        fills[byte * GRADES + grade] = pixel(mixed);
        edges[byte * GRADES + grade] = pixel(mix(mixed, panel, 0.55));
      }
    }
  });
  return {
    fills,
    edges,
    darkText,
    background: Uint32Array.of(pixel(panel)),
    css: Object.fromEntries(
      CSS.map((name) => [name, style.getPropertyValue(`--${name}`).trim() || '#888']),
    ) as Record<CssColor, string>,
  };
}

/** 0 to GRADES − 1. */
export const gradeOf = (busy: number, length: number): number =>
  length > 0 && busy < length ? Math.max(0, Math.ceil((busy / length) * GRADES) - 1) : GRADES - 1;

export const fillAt = (paint: number, grade: number): number => paint * GRADES + grade;

/** Little-endian RGBA, opaque. */
const pixel = ([r, g, b]: Rgb) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

const mix = (a: Rgb, b: Rgb, share: number): Rgb => [
  Math.round(a[0] + (b[0] - a[0]) * share),
  Math.round(a[1] + (b[1] - a[1]) * share),
  Math.round(a[2] + (b[2] - a[2]) * share),
];

function luminance([r, g, b]: Rgb): number {
  const linear = (c: number) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** A neighbor in hue and lightness: names can be distinguished, and the family stays. */
function shaded(rgb: Rgb, shade: number): Rgb {
  const [h, s, l] = toHsl(rgb);
  const hue = h + ((shade % 4) - 1.5) * 14;
  return toRgb((hue + 360) % 360, s, Math.min(0.9, Math.max(0.15, l + (shade < 4 ? -0.035 : 0.045))));
}

function toHsl([r, g, b]: Rgb): [number, number, number] {
  const [high, low] = [Math.max(r, g, b) / 255, Math.min(r, g, b) / 255];
  const [l, d] = [(high + low) / 2, high - low];
  if (d === 0) return [0, 0, l];
  const s = d / (1 - Math.abs(2 * l - 1));
  const [x, y, z] = [r / 255, g / 255, b / 255];
  const sector = high === x ? (y - z) / d : high === y ? (z - x) / d + 2 : (x - y) / d + 4;
  return [(sector * 60 + 360) % 360, s, l];
}

function toRgb(h: number, s: number, l: number): Rgb {
  const part = (n: number) => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}
