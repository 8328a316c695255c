import type { Palette } from './palette.js';
import { MINIMAP, RULER, type Scene, TOP } from './scene.js';

/** 1, 2 or 5 times a power of ten, so that ticks are about 120 pixels apart. */
export function tickStep(nsPerPixel: number): number {
  const least = nsPerPixel * 110;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((n) => n * power >= least) ?? 10) * power;
}

/** In a unit that suits the distance of ticks. */
export function tickLabel(time: number, step: number): string {
  const [per, unit] =
    step >= 1e8 ? [1e9, 's'] : step >= 1e5 ? [1e6, 'ms'] : step >= 100 ? [1e3, 'µs'] : [1, 'ns'];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / per) + 1e-9));
  return `${(time / per).toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })} ${unit}`;
}

export function drawRuler(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { css }: Palette,
  width: number,
): void {
  const { gutter, from, nsPerPixel } = scene;
  context.fillStyle = css.panel;
  context.fillRect(0, 0, width, TOP);
  const step = tickStep(nsPerPixel);
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  const to = from + (width - gutter) * nsPerPixel;
  for (let t = Math.ceil(from / step) * step; t < to; t += step) {
    const x = gutter + (t - from) / nsPerPixel;
    context.fillStyle = css.line;
    context.fillRect(Math.round(x), MINIMAP + 4, 1, RULER - 4);
    context.fillStyle = css.muted;
    context.fillText(tickLabel(t, step), x + 4, MINIMAP + RULER / 2 + 1);
  }
  context.fillStyle = css.line;
  context.fillRect(0, TOP - 1, width, 1);
}

/** The whole recording by class, and the part of it that is shown. */
export function drawMinimap(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { css }: Palette,
  width: number,
  overview: CanvasImageSource | null,
): void {
  const { gutter, from, nsPerPixel, whole } = scene;
  const scale = (width - gutter) / Math.max(1, whole.to - whole.from);
  const xOf = (time: number) => gutter + (time - whole.from) * scale;
  context.fillStyle = css.bg;
  context.fillRect(gutter, 0, width - gutter, MINIMAP);
  if (overview) context.drawImage(overview, gutter, 5, width - gutter, MINIMAP - 10);
  const [x0, x1] = [xOf(from), xOf(from + (width - gutter) * nsPerPixel)];
  context.globalAlpha = 0.18;
  context.fillStyle = css.accent;
  context.fillRect(x0, 0, Math.max(3, x1 - x0), MINIMAP);
  context.globalAlpha = 1;
  context.strokeStyle = css.accent;
  context.lineWidth = 1.5;
  context.strokeRect(x0, 1, Math.max(3, x1 - x0), MINIMAP - 2);
  context.fillStyle = css.muted;
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  if (gutter > 120) context.fillText('whole recording', 8, MINIMAP / 2);
}
