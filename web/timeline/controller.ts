import { type Signal, signal } from '@preact/signals';
import { hitTest } from './hit-test.js';
import { Painter } from './painter.js';
import { type Palette, readPalette } from './palette.js';
import type { Scene } from './scene.js';
import { Search } from './search.js';
import { Selection, type Stage } from './selection.js';
import { firstRange, firstRanks, ShownRanks } from './shown-ranks.js';
import type { TimelineSource } from './source.js';
import { levelOf, TileStore } from './tiles.js';
import { Viewport } from './viewport.js';

export interface TimelineView {
  readonly from: number;
  readonly to: number;
  /** Shown, in order. Empty: the timeline chooses. */
  readonly ranks: readonly number[];
}

/** Where evidence, the heat map or a link point to. */
export interface TimelineFocus {
  readonly rank: number;
  readonly step?: number;
  readonly from?: number;
  readonly to?: number;
  readonly label?: string;
}

export interface Hover {
  readonly x: number;
  readonly y: number;
  readonly name: string;
  readonly lines: readonly string[];
}

/** Ranks that are shown together when a link adds one. */
const MOST_RANKS = 8;
/** After this long without a movement the view is published and arrows are requested. */
const SETTLED_MS = 160;
/** A canvas narrower than this has short titles. CSS pixels. */
const NARROW = 620;
const [SHORT_TITLES, LONG_TITLES] = [84, 190];

/** Ties the parts of one timeline together and draws it. The component around it has the toolbar and the panels. */
export class Controller implements Stage {
  readonly hover = signal<Hover | null>(null);
  readonly problem = signal<string | null>(null);
  readonly showsArrows = signal(true);
  readonly scene: Scene = {
    from: 0,
    nsPerPixel: 1,
    scrollTop: 0,
    whole: { from: 0, to: 1 },
    lanes: [],
    gutter: LONG_TITLES,
    selected: null,
    range: null,
    hits: [],
    hover: null,
    arrows: [],
    ownArrows: [],
    path: [],
  };
  readonly viewport = new Viewport(this.scene, () => this.#moved());
  readonly shown: ShownRanks;
  readonly selection = new Selection(this);
  readonly search = new Search(this, this.selection);
  readonly #tiles: TileStore;
  readonly #painter: Painter;
  #palette: Palette | null = null;
  #frame = 0;
  #settle: ReturnType<typeof setTimeout> | undefined;
  #told: TimelineView | null = null;
  #lastFrom = 0;
  #closed = false;

  constructor(
    readonly source: TimelineSource,
    canvas: HTMLCanvasElement,
    readonly view: Signal<TimelineView>,
  ) {
    const fail = (error: unknown) => this.fail(error);
    this.shown = new ShownRanks(source, this.scene);
    this.#tiles = new TileStore(source, () => this.draw(), fail);
    this.#painter = new Painter(canvas, this.#tiles);
  }

  fail(error: unknown): void {
    if (!this.#closed) this.problem.value = error instanceof Error ? error.message : String(error);
  }

  close(): void {
    this.#closed = true;
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#settle);
    this.#tiles.close();
  }

  async start(): Promise<void> {
    const tracks = await this.source.tracks();
    this.shown.tracks.value = tracks;
    this.scene.whole = tracks;
    const given = this.view.peek();
    const known = given.ranks.filter((rank) => this.shown.lineOf(rank));
    if (given.to > given.from) this.viewport.place(given.from, given.to);
    else this.viewport.place(...firstRange(tracks));
    this.showRanks(known.length > 0 ? known : firstRanks(tracks));
  }

  showRanks(ranks: readonly number[]): void {
    this.shown.show(ranks);
    for (const rank of ranks)
      this.shown
        .open(rank)
        .then((isNew) => isNew && this.#moved())
        .catch((error: unknown) => this.fail(error));
    this.#moved();
  }

  resize(width: number, height: number): void {
    this.#painter.resize(width, height, devicePixelRatio || 1);
    this.viewport.resize(width, width < NARROW ? SHORT_TITLES : LONG_TITLES);
    this.draw();
  }

  newColors(element: Element): void {
    this.#palette = readPalette(element);
    this.draw();
  }

  scrolled(top: number): void {
    this.scene.scrollTop = top;
    this.draw();
  }

  draw(): void {
    if (this.#frame !== 0 || this.#closed) return;
    this.#frame = requestAnimationFrame((now) => {
      this.#frame = 0;
      this.viewport.fly(now);
      if (this.#palette && this.#painter.width > 0) {
        // What is still in view is asked for again by the frame.
        this.#tiles.dropQueue();
        this.#painter.frame(this.scene, this.#palette);
        this.#tellDrawn();
        this.#lookAhead();
      }
    });
  }

  /** For tests and measurements: whether all that belongs into the view is in it. */
  #tellDrawn(): void {
    const isDrawn = this.#tiles.isIdle && this.scene.lanes.some((l) => l.kind === 'track');
    const { dataset } = this.#painter.canvas;
    if (dataset.drawn !== String(isDrawn)) dataset.drawn = String(isDrawn);
  }

  /** Fetches what is next to the view, on the side to which it moves. */
  #lookAhead(): void {
    const { from, nsPerPixel, lanes, scrollTop, whole } = this.scene;
    if (!this.#tiles.isIdle) return;
    const { length } = this.viewport;
    const ahead = from >= this.#lastFrom ? 1 : -1;
    this.#lastFrom = from;
    const level = levelOf(nsPerPixel);
    const start = Math.max(whole.from, from + ahead * length);
    const end = Math.min(whole.to, start + length);
    for (const lane of lanes) {
      const top = lane.y - scrollTop;
      if (lane.kind === 'track' && top < this.#painter.height && top + lane.height > 0)
        this.#tiles.prefetch(lane.line.rank, lane.track, level, start, end);
    }
  }

  #moved(): void {
    this.draw();
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => void this.#settled(), SETTLED_MS);
  }

  /** Tells the view to others, and asks for what only a resting view shows. */
  async #settled(): Promise<void> {
    const { from, to } = this.viewport;
    const ranks = this.shown.ranks.value;
    if (ranks.length === 0) return;
    this.#told = { from, to, ranks };
    this.view.value = this.#told;
    try {
      const isWanted = this.showsArrows.value;
      const { arrows, path } = isWanted ? await this.source.arrows(this.#told) : { arrows: [], path: [] };
      this.scene.arrows = arrows;
      this.scene.path = path;
      this.draw();
    } catch (error) {
      this.fail(error);
    }
  }

  setArrows(on: boolean): void {
    this.showsArrows.value = on;
    this.#moved();
  }

  /** Others changed the view: the address bar, the heat map. */
  follow(view: TimelineView): void {
    if (view === this.#told || !this.shown.tracks.value) return;
    if (view.to > view.from) this.viewport.flyTo(view.from, view.to);
    if (view.ranks.length > 0 && view.ranks.join() !== this.shown.ranks.value.join())
      this.showRanks(view.ranks);
  }

  focusOn(focus: TimelineFocus): void {
    const line = this.shown.lineOf(focus.rank);
    if (!line) return;
    // First, so that it is in view.
    const ranks = this.shown.ranks.value;
    const others = ranks.filter((rank) => rank !== focus.rank);
    if (ranks[0] !== focus.rank) this.showRanks([focus.rank, ...others].slice(0, MOST_RANKS));
    const step = line.steps.find((s) => s.number === focus.step);
    const from = focus.from ?? step?.from ?? line.from;
    const to = focus.to ?? step?.to ?? line.to;
    const margin = (to - from) * 0.08;
    this.viewport.flyTo(from - margin, to + margin);
    const label = focus.label ?? (step ? `Step ${step.number}` : undefined);
    void this.selection.selectRange({
      from,
      to,
      ranks: [focus.rank],
      ...(label === undefined ? {} : { label }),
    });
  }

  pointAt(x: number, y: number): void {
    this.scene.hover = { x, y };
    const found = hitTest(this.scene, this.#tiles, x, y, this.shown.laneAt(y));
    this.hover.value = found && { x, y, name: found.name, lines: found.lines };
    this.draw();
  }

  leave(): void {
    this.scene.hover = null;
    this.hover.value = null;
    this.draw();
  }

  async click(x: number, y: number): Promise<void> {
    const lane = this.shown.laneAt(y);
    if (!lane) return;
    const { rank, steps } = lane.line;
    if (x < this.scene.gutter) {
      if (lane.kind !== 'track') return;
      this.shown.toggle(lane);
      return this.draw();
    }
    if (lane.kind === 'rank') {
      const time = this.viewport.timeAt(x);
      const step = steps.find((s) => time >= s.from && time < s.to);
      if (!step) return;
      const { from, to, number } = step;
      return this.selection.selectRange({ from, to, ranks: [rank], label: `Step ${number}` });
    }
    const found = hitTest(this.scene, this.#tiles, x, y, lane);
    if (!found || lane.info?.kind === 'counter') return this.selection.clear();
    const { start, end, row, index } = found;
    // What stands for many short slices is looked at by zooming in.
    if (found.count > 1) return this.viewport.flyTo(start - (end - start), end + (end - start));
    await this.selection.select({ rank, track: lane.track, row, index });
  }
}
