import type { Scene } from './scene.js';

/** ns: nothing in a trace is shorter than a nanosecond, so no view needs to be. */
const LEAST_VIEW = 200;
const FLIGHT_MS = 220;

interface Flight {
  readonly from: number;
  readonly to: number;
  readonly startFrom: number;
  readonly startTo: number;
  readonly startedMs: number;
}

/** Which times are in view, and how the view moves. Keeps them in the scene. */
export class Viewport {
  #width = 0;
  #flight: Flight | null = null;

  /** `moved`: called after each movement, and when one begins. */
  constructor(
    readonly scene: Scene,
    readonly moved: () => void,
  ) {}

  get plotWidth(): number {
    return Math.max(1, this.#width - this.scene.gutter);
  }
  get from(): number {
    return this.scene.from;
  }
  get to(): number {
    return this.scene.from + this.plotWidth * this.scene.nsPerPixel;
  }
  get length(): number {
    return this.plotWidth * this.scene.nsPerPixel;
  }
  timeAt(x: number): number {
    return this.scene.from + (x - this.scene.gutter) * this.scene.nsPerPixel;
  }

  /** The same times in a canvas of another width. */
  resize(width: number, gutter: number): void {
    const { from, to } = this;
    this.#width = width;
    this.scene.gutter = gutter;
    this.place(from, to);
  }

  /** Shows [from, to] at once and tells nobody. */
  place(from: number, to: number): void {
    const { whole } = this.scene;
    const most = (whole.to - whole.from) * 1.1;
    const length = Math.min(Math.max(to - from, LEAST_VIEW), Math.max(most, LEAST_VIEW));
    const middle = (from + to) / 2;
    const margin = length * 0.5;
    const start = Math.min(Math.max(middle - length / 2, whole.from - margin), whole.to + margin - length);
    this.scene.from = start;
    this.scene.nsPerPixel = length / this.plotWidth;
  }

  show(from: number, to: number): void {
    this.#flight = null;
    this.place(from, to);
    this.moved();
  }

  /** Moves there within a moment. */
  flyTo(from: number, to: number): void {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return this.show(from, to);
    this.#flight = { from, to, startFrom: this.from, startTo: this.to, startedMs: performance.now() };
    this.moved();
  }

  /** A frame is about to be drawn. */
  fly(now: number): void {
    const flight = this.#flight;
    if (!flight) return;
    const part = Math.min(1, Math.max(0, (now - flight.startedMs) / FLIGHT_MS));
    const eased = 1 - (1 - part) ** 3;
    const between = (a: number, b: number) => a + (b - a) * eased;
    this.place(between(flight.startFrom, flight.from), between(flight.startTo, flight.to));
    if (part >= 1) this.#flight = null;
    this.moved();
  }

  pan(pixels: number): void {
    const by = pixels * this.scene.nsPerPixel;
    this.show(this.from + by, this.to + by);
  }

  /** `factor` below 1 zooms in. The time at `x` stays where it is. */
  zoom(factor: number, x = this.scene.gutter + this.plotWidth / 2): void {
    const at = this.timeAt(x);
    const [from, to] = [at - (at - this.from) * factor, at + (this.to - at) * factor];
    if (to - from < LEAST_VIEW && factor < 1) return;
    this.show(from, to);
  }

  showWhole(): void {
    const { from, to } = this.scene.whole;
    const margin = (to - from) * 0.01;
    this.flyTo(from - margin, to + margin);
  }

  /** Middle of the view at a place of the overview. */
  centerAt(x: number): void {
    const { whole, gutter } = this.scene;
    const time = whole.from + ((x - gutter) / this.plotWidth) * (whole.to - whole.from);
    this.show(time - this.length / 2, time + this.length / 2);
  }
}
