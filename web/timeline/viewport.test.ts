import { describe, expect, it } from 'vitest';
import type { Scene } from './scene.js';
import { Viewport } from './viewport.js';

const GUTTER = 100;

/** A run of 1 ms in a plot of 1000 pixels. */
function viewport(from = 0, to = 1e6): Viewport {
  const scene = { from: 0, nsPerPixel: 1, gutter: GUTTER, whole: { from: 0, to: 1e6 } } as Scene;
  const view = new Viewport(scene, () => {});
  view.resize(1000 + GUTTER, GUTTER);
  view.show(from, to);
  return view;
}
const shown = ({ from, to }: Viewport) => [Math.round(from), Math.round(to)];

describe('the viewport of the timeline', () => {
  it('keeps the time under the pointer where it is when it zooms', () => {
    const view = viewport(200_000, 400_000);
    const x = GUTTER + 250;
    expect(view.timeAt(x)).toBe(250_000);
    view.zoom(0.5, x);
    expect(view.timeAt(x)).toBeCloseTo(250_000, 3);
    expect(shown(view)).toEqual([225_000, 325_000]);
  });

  it('zooms around its middle without a pointer', () => {
    const view = viewport(200_000, 400_000);
    view.zoom(0.5);
    expect(shown(view)).toEqual([250_000, 350_000]);
  });

  it('does not show less than 200 ns, nor much more than the run', () => {
    const view = viewport(500_000, 500_300);
    view.zoom(0.5);
    expect(shown(view)).toEqual([500_000, 500_300]);
    view.show(500_000, 500_001);
    expect(view.length).toBeCloseTo(200, 6);
    view.show(-9e6, 9e6);
    expect(view.length).toBeCloseTo(1.1e6, 3);
  });

  it('leaves half of the view on the run when it is moved past an end', () => {
    const view = viewport(0, 100_000);
    view.pan(-5000);
    expect(shown(view)).toEqual([-50_000, 50_000]);
    view.pan(1e6);
    expect(shown(view)).toEqual([950_000, 1_050_000]);
  });

  it('shows the same times in a canvas of another width', () => {
    const view = viewport(200_000, 400_000);
    view.resize(500, 84);
    expect(shown(view)).toEqual([200_000, 400_000]);
    expect(view.plotWidth).toBe(416);
  });

  it('centers on a place of the overview', () => {
    const view = viewport(0, 100_000);
    view.centerAt(GUTTER + 700);
    expect(shown(view)).toEqual([650_000, 750_000]);
  });
});
