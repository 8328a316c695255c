import { type Signal, signal } from '@preact/signals';
import { hitTest } from './hit-test.js';
import { type Lane, laneKey, layOut } from './layout.js';
import { Painter } from './painter.js';
import { type Palette, readPalette } from './palette.js';
import { MINIMAP, RULER, type Scene, type SelectedRange, TOP } from './scene.js';
import type {
  Arrow,
  PlacedSlice,
  RangeTotals,
  SearchHit,
  SliceDetail,
  TimelineSource,
  TimelineTracks,
  TrackInfo,
} from './source.js';
import { levelOf, TileStore } from './tiles.js';

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

export type Picked =
  | { readonly kind: 'slice'; readonly detail: SliceDetail }
  | { readonly kind: 'range'; readonly range: SelectedRange; readonly totals: readonly RangeTotals[] };

/** Ranks that are shown at first. */
const FIRST_RANKS = 4;
/** ns: nothing in a trace is shorter than a nanosecond, so no view needs to be. */
const LEAST_VIEW = 200;
/** After this long without a movement the view is told to others and arrows are asked for. */
const SETTLED_MS = 160;
const MOST_HITS = 2000;

/** Holds the state of one timeline and draws it. The component around it has the toolbar and the panels. */
export class Controller {
  readonly picked = signal<Picked | null>(null);
  readonly hover = signal<Hover | null>(null);
  readonly hits = signal<{ readonly list: readonly SearchHit[]; readonly at: number } | null>(null);
  readonly problem = signal<string | null>(null);
  readonly tracks = signal<TimelineTracks | null>(null);
  readonly ranks = signal<readonly number[]>([]);
  readonly contentHeight = signal(0);
  readonly showsArrows = signal(true);
  readonly scene: Scene = {
    from: 0,
    nsPerPixel: 1,
    scrollTop: 0,
    whole: { from: 0, to: 1 },
    lanes: [],
    gutter: 180,
    selected: null,
    range: null,
    hits: [],
    hover: null,
    arrows: [],
    ownArrows: [],
    path: [],
    isMoving: false,
  };
  readonly #tiles: TileStore;
  readonly #painter: Painter;
  readonly #opened = new Map<number, readonly TrackInfo[]>();
  readonly #toggled = new Set<string>();
  #palette: Palette | null = null;
  #frame = 0;
  #settle: ReturnType<typeof setTimeout> | undefined;
  #flight: {
    readonly from: number;
    readonly to: number;
    readonly start: number;
    readonly a: number;
    readonly b: number;
  } | null = null;
  #told: TimelineView | null = null;
  #lastFrom = 0;
  #closed = false;

  constructor(
    readonly source: TimelineSource,
    canvas: HTMLCanvasElement,
    readonly view: Signal<TimelineView>,
  ) {
    const fail = (error: unknown) => this.fail(error);
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
  }

  get plotWidth(): number {
    return Math.max(1, this.#painter.width - this.scene.gutter);
  }
  get height(): number {
    return this.#painter.height;
  }
  get to(): number {
    return this.scene.from + this.plotWidth * this.scene.nsPerPixel;
  }
  timeAt(x: number): number {
    return this.scene.from + (x - this.scene.gutter) * this.scene.nsPerPixel;
  }
  async start(): Promise<void> {
    const tracks = await this.source.tracks();
    this.tracks.value = tracks;
    this.scene.whole = tracks;
    const given = this.view.peek();
    const known = given.ranks.filter((r) => tracks.ranks.some((line) => line.rank === r));
    if (given.to > given.from) this.#set(given.from, given.to);
    else this.#set(...firstRange(tracks));
    this.showRanks(known.length > 0 ? known : firstRanks(tracks));
  }

  showRanks(ranks: readonly number[]): void {
    this.ranks.value = ranks;
    this.#arrange();
    for (const rank of ranks) void this.#open(rank);
    this.#moved();
  }

  async #open(rank: number): Promise<void> {
    if (this.#opened.has(rank)) return;
    try {
      this.#opened.set(rank, await this.source.open(rank));
      this.#arrange();
      this.#moved();
    } catch (error) {
      this.fail(error);
    }
  }

  toggle(lane: Lane): void {
    const key = laneKey(lane.line.rank, lane.track);
    if (!this.#toggled.delete(key)) this.#toggled.add(key);
    this.#arrange();
    this.draw();
  }

  #arrange(): void {
    const lines = this.ranks.value.flatMap((r) => this.tracks.value?.ranks.find((l) => l.rank === r) ?? []);
    const { lanes, height } = layOut(lines, this.#opened, this.#toggled);
    this.scene.lanes = lanes;
    this.contentHeight.value = height + TOP;
  }

  resize(width: number, height: number): void {
    const { from } = this.scene;
    const to = this.to;
    const hadSize = this.#painter.width > 0;
    this.scene.gutter = width < 620 ? 84 : 190;
    this.#painter.resize(width, height, devicePixelRatio || 1);
    if (hadSize || to > from) this.#set(from, to);
    this.draw();
  }

  newColours(element: Element): void {
    this.#palette = readPalette(element);
    this.draw();
  }

  draw(): void {
    if (this.#frame !== 0 || this.#closed) return;
    this.#frame = requestAnimationFrame((now) => {
      this.#frame = 0;
      this.#fly(now);
      if (this.#palette && this.#painter.width > 0) {
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

  /** Shows [from, to] at once. */
  #set(from: number, to: number): void {
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
    this.#set(from, to);
    this.#moved();
  }

  /** Moves there within a moment. */
  flyTo(from: number, to: number): void {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return this.show(from, to);
    this.#flight = { from, to, start: performance.now(), a: this.scene.from, b: this.to };
    this.draw();
  }

  #fly(now: number): void {
    const flight = this.#flight;
    if (!flight) return;
    const part = Math.min(1, Math.max(0, (now - flight.start) / 220));
    const eased = 1 - (1 - part) ** 3;
    this.#set(flight.a + (flight.from - flight.a) * eased, flight.b + (flight.to - flight.b) * eased);
    if (part >= 1) this.#flight = null;
    this.#moved();
  }

  pan(pixels: number): void {
    const by = pixels * this.scene.nsPerPixel;
    this.show(this.scene.from + by, this.to + by);
  }

  /** `factor` below 1 zooms in. The time at `x` stays where it is. */
  zoom(factor: number, x = this.scene.gutter + this.plotWidth / 2): void {
    const at = this.timeAt(x);
    const [from, to] = [at - (at - this.scene.from) * factor, at + (this.to - at) * factor];
    if (to - from < LEAST_VIEW && factor < 1) return;
    this.show(from, to);
  }

  showWhole(): void {
    const { from, to } = this.scene.whole;
    const margin = (to - from) * 0.01;
    this.flyTo(from - margin, to + margin);
  }

  scrolled(top: number): void {
    this.scene.scrollTop = top;
    this.draw();
  }

  #moved(): void {
    this.draw();
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => void this.#settled(), SETTLED_MS);
  }

  /** Tells the view to others, and asks for what only a resting view shows. */
  async #settled(): Promise<void> {
    const { from } = this.scene;
    const to = this.to;
    const ranks = this.ranks.value;
    if (ranks.length === 0) return;
    this.#told = { from, to, ranks };
    this.view.value = this.#told;
    if (!this.showsArrows.value) return this.#showArrows([], []);
    try {
      const { arrows, path } = await this.source.arrows({ from, to, ranks });
      this.#showArrows(arrows, path);
    } catch (error) {
      this.fail(error);
    }
  }

  #showArrows(arrows: readonly Arrow[], path: Scene['path']): void {
    this.scene.arrows = arrows;
    this.scene.path = path;
    this.draw();
  }

  setArrows(on: boolean): void {
    this.showsArrows.value = on;
    this.#moved();
  }

  /** Others changed the view: the address bar, the heat map. */
  follow(view: TimelineView): void {
    if (view === this.#told || !this.tracks.value) return;
    if (view.to > view.from) this.flyTo(view.from, view.to);
    if (view.ranks.length > 0 && view.ranks.join() !== this.ranks.value.join()) this.showRanks(view.ranks);
  }

  focusOn(focus: TimelineFocus): void {
    const line = this.tracks.value?.ranks.find((l) => l.rank === focus.rank);
    if (!line) return;
    // First, so that it is in view.
    const others = this.ranks.value.filter((rank) => rank !== focus.rank);
    if (this.ranks.value[0] !== focus.rank) this.showRanks([focus.rank, ...others].slice(0, 8));
    const step = line.steps.find((s) => s.number === focus.step);
    const from = focus.from ?? step?.from ?? line.from;
    const to = focus.to ?? step?.to ?? line.to;
    const margin = (to - from) * 0.08;
    this.flyTo(from - margin, to + margin);
    const label = focus.label ?? (step ? `Step ${step.number}` : undefined);
    void this.selectRange({ from, to, ranks: [focus.rank], ...(label === undefined ? {} : { label }) });
  }

  /** Fetches what lies next to the view, on the side to which it moves. */
  #lookAhead(): void {
    const { from, nsPerPixel, lanes, scrollTop } = this.scene;
    if (!this.#tiles.isIdle) return;
    const length = this.to - from;
    const ahead = from >= this.#lastFrom ? 1 : -1;
    this.#lastFrom = from;
    const level = levelOf(nsPerPixel);
    const { whole } = this.scene;
    const start = Math.max(whole.from, ahead > 0 ? from + length : from - length);
    const end = Math.min(whole.to, start + length);
    for (const lane of lanes) {
      const top = lane.y - scrollTop;
      if (lane.kind === 'track' && top < this.height && top + lane.height > 0)
        this.#tiles.prefetch(lane.line.rank, lane.track, level, start, end);
    }
  }

  laneAt(y: number): Lane | null {
    const at = y - TOP + this.scene.scrollTop;
    return y < TOP ? null : (this.scene.lanes.find((l) => at >= l.y && at < l.y + l.height) ?? null);
  }

  pointAt(x: number, y: number): void {
    this.scene.hover = { x, y };
    const found = hitTest(this.scene, this.#tiles, x, y, this.laneAt(y));
    this.hover.value = found && { x, y, name: found.name, lines: found.lines };
    this.draw();
  }

  leave(): void {
    this.scene.hover = null;
    this.hover.value = null;
    this.draw();
  }

  async click(x: number, y: number): Promise<void> {
    const lane = this.laneAt(y);
    if (!lane) return;
    if (x < this.scene.gutter) {
      if (lane.kind === 'track') this.toggle(lane);
      return;
    }
    if (lane.kind === 'rank') {
      const time = this.timeAt(x);
      const step = lane.line.steps.find((s) => time >= s.from && time < s.to);
      if (step) await this.selectStep(lane.line.rank, step.number);
      return;
    }
    const found = hitTest(this.scene, this.#tiles, x, y, lane);
    if (!found || lane.info?.kind === 'counter') return this.clear();
    // What stands for many short slices is looked at by zooming in.
    if (found.count > 1)
      return this.flyTo(found.start - (found.end - found.start), found.end + (found.end - found.start));
    await this.select({ rank: lane.line.rank, track: lane.track, row: found.row, index: found.index });
  }

  async selectStep(rank: number, number: number): Promise<void> {
    const line = this.tracks.value?.ranks.find((l) => l.rank === rank);
    const step = line?.steps.find((s) => s.number === number);
    if (step)
      await this.selectRange({ from: step.from, to: step.to, ranks: [rank], label: `Step ${number}` });
  }

  async select(slice: Pick<PlacedSlice, 'rank' | 'track' | 'row' | 'index'>): Promise<void> {
    try {
      const detail = await this.source.detail(slice);
      this.scene.selected = detail;
      this.scene.range = null;
      this.scene.ownArrows = detail.related.map((other) => {
        const isCaller = other.label === 'Launched by';
        const [call, work] = isCaller ? [other, detail] : [detail, other];
        return { kind: 'launch', from: { ...call, time: call.start }, to: { ...work, time: work.start } };
      });
      this.picked.value = { kind: 'slice', detail };
      this.draw();
    } catch (error) {
      this.fail(error);
    }
  }

  async selectRange(range: SelectedRange): Promise<void> {
    this.scene.range = range;
    this.scene.selected = null;
    this.scene.ownArrows = [];
    this.draw();
    try {
      const totals = await Promise.all(
        range.ranks.slice(0, 8).map((rank) => this.source.totals({ rank, from: range.from, to: range.to })),
      );
      if (this.scene.range === range) this.picked.value = { kind: 'range', range, totals };
    } catch (error) {
      this.fail(error);
    }
  }

  /** A range that is being dragged: shown, not counted yet. */
  dragRange(range: SelectedRange): void {
    this.scene.range = range;
    this.draw();
  }

  clear(): void {
    this.scene.selected = null;
    this.scene.range = null;
    this.scene.ownArrows = [];
    this.picked.value = null;
    this.draw();
  }

  /** To a slice, with some room around it. */
  async reveal(slice: PlacedSlice): Promise<void> {
    const length = Math.max(slice.end - slice.start, 1000);
    const isVisible =
      slice.start < this.to && slice.end > this.scene.from && length > 4 * this.scene.nsPerPixel;
    if (!isVisible || length > 4 * (this.to - this.scene.from))
      this.flyTo(slice.start - 6 * length, slice.end + 6 * length);
    await this.select(slice);
  }

  async search(text: string): Promise<void> {
    try {
      const list = text.trim() === '' ? [] : await this.source.search(text, MOST_HITS, this.ranks.value);
      this.hits.value = text.trim() === '' ? null : { list, at: -1 };
      this.scene.hits = list;
      this.draw();
      if (list.length > 0) await this.step(1);
    } catch (error) {
      this.fail(error);
    }
  }

  /** To the next or the previous hit, around the ends. */
  async step(by: 1 | -1): Promise<void> {
    const found = this.hits.value;
    if (!found || found.list.length === 0) return;
    const middle = (this.scene.from + this.to) / 2;
    const first = found.list.findIndex((h) => h.start >= middle - (this.to - this.scene.from) / 2);
    const at = found.at < 0 ? Math.max(0, first) : (found.at + by + found.list.length) % found.list.length;
    this.hits.value = { list: found.list, at };
    await this.reveal(found.list[at]!);
  }

  /** Middle of the view at a place of the overview. */
  centerAt(x: number): void {
    const { whole, gutter } = this.scene;
    const time = whole.from + ((x - gutter) / this.plotWidth) * (whole.to - whole.from);
    const half = (this.to - this.scene.from) / 2;
    this.show(time - half, time + half);
  }

  partAt(y: number): 'minimap' | 'ruler' | 'plot' {
    return y < MINIMAP ? 'minimap' : y < MINIMAP + RULER ? 'ruler' : 'plot';
  }
}

/** Late ranks are what a reader looks for; beside them, one that is not. */
function firstRanks({ ranks }: TimelineTracks): number[] {
  const late = ranks.filter((r) => r.late).slice(0, FIRST_RANKS - 1);
  const others = ranks.filter((r) => !late.includes(r)).slice(0, FIRST_RANKS - late.length);
  return [...late, ...others].map((r) => r.rank);
}

/** A few steps: of hundreds, nothing could be seen. */
function firstRange({ from, to, ranks }: TimelineTracks): [number, number] {
  const steps = ranks[0]?.steps ?? [];
  if (steps.length < 5) return [from, to];
  const [first, last] = [steps[1]!.from, steps[3]!.to];
  const margin = (last - first) * 0.03;
  return [first - margin, last + margin];
}
