import { type Signal, useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { formatTime, ns, toMs } from '../../src/base/units.js';
import type { RankSteps, StepMetric } from '../../src/page/page-data.js';
import { decodeTime } from '../../src/page/page-data.js';
import { type Colors, colorsFor, type GridRows, groupings, paint, rowsBy } from './heat-grid.js';
import { metricName } from './metric-names.js';
import type { Navigator } from './navigator.js';
import { colorOf, colorScheme } from './theme.js';

interface HeatMapProps {
  readonly steps: RankSteps;
  /** Ranks that are late. */
  readonly late: ReadonlySet<number>;
  readonly navigator: Navigator;
}

/** A cell of the map: indices of its row as shown, and of its column. */
type Cell = readonly [row: number, column: number];

const MOST_HEIGHT = 520;
const ROW_HEIGHT = 26;
const LABEL_HEIGHT = 16;

/** Every rank in every step. Arrow keys move through it; Enter shows the chosen cell in full. */
export function HeatMap({ steps, late, navigator }: HeatMapProps) {
  const metrics = steps.metrics;
  const shown = useSignal((late.size > 0 && metrics.find((m) => m.name === 'own')?.name) || 'step');
  const group = useSignal<string | null>(null);
  const metric = useComputed(() => metrics.find((m) => m.name === shown.value) ?? metrics[0]!);
  const rows = useComputed(() => rowsBy(steps, group.value));
  const colors = useComputed(() => {
    const ramp = [0, 1, 2, 3, 4].map((i) => colorOf(`--ramp-${i}`, colorScheme.value));
    return colorsFor(metric.value, steps.ranks.length, ramp, colorOf('--missing', colorScheme.value));
  });
  const height = Math.min(MOST_HEIGHT, ROW_HEIGHT * steps.ranks.length);
  const hovered = useSignal<Cell | null>(null);
  const { rank, step } = navigator.view.value;
  const chosen: Cell = [rows.value.order.findIndex((r) => steps.ranks[r] === rank), columnOf(steps, step)];
  return (
    <div class="heat">
      <div class="controls">
        <label>
          Color{' '}
          <select
            value={shown}
            onChange={(e) => {
              shown.value = e.currentTarget.value as StepMetric['name'];
            }}
          >
            {metrics.map((m) => (
              <option key={m.name} value={m.name}>
                {metricName(m.name)}
              </option>
            ))}
          </select>
        </label>
        {groupings(steps).length > 0 && (
          <label>
            Group by{' '}
            <select
              value={group.value ?? ''}
              onChange={(e) => {
                group.value = e.currentTarget.value || null;
              }}
            >
              <option value="">rank</option>
              {groupings(steps).map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <Ramp colors={colors.value} />
      </div>
      <div class="grid">
        <RowLabels steps={steps} rows={rows.value} late={late} height={height} />
        <Cells
          steps={steps}
          metric={metric.value}
          rows={rows.value}
          colors={colors.value}
          height={height}
          chosen={chosen}
          hovered={hovered}
          navigator={navigator}
        />
        <div class="columns">
          <span>step {steps.steps[0]}</span>
          <span>{steps.steps.at(-1)}</span>
        </div>
      </div>
      <p class="readout" aria-live="polite">
        {describe(steps, metric.value, rows.value, hovered.value ?? chosen) ??
          'Point at a cell, or move with the arrow keys. A click shows it in the timeline.'}
      </p>
    </div>
  );
}

function Ramp({ colors: { low, high } }: { colors: Colors }) {
  return (
    <span class="ramp">
      {formatTime(toMs(ns(low)))} <i /> {formatTime(toMs(ns(high)))}
    </span>
  );
}

interface CellsProps {
  readonly steps: RankSteps;
  readonly metric: StepMetric;
  readonly rows: GridRows;
  readonly colors: Colors;
  readonly height: number;
  readonly chosen: Cell;
  readonly hovered: Signal<Cell | null>;
  readonly navigator: Navigator;
}

const ARROWS: Readonly<Record<string, readonly [row: number, column: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function Cells({ steps, metric, rows, colors, height, chosen, hovered, navigator }: CellsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useSignal(0);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => {
      width.value = Math.floor(entry!.contentRect.width);
    });
    watcher.observe(canvas.current!.parentElement!);
    return () => watcher.disconnect();
  }, [width]);
  // Read here, so that a new width draws again.
  const across = width.value;
  useEffect(() => {
    if (across > 0) draw(canvas.current!, steps, metric, rows, colors, across, height);
  }, [steps, metric, rows, colors, across, height]);
  const [row, column] = chosen;
  const inside = (n: number, count: number) => Math.max(0, Math.min(count - 1, n));
  const cellAt = (e: { offsetX: number; offsetY: number }): Cell => [
    inside(Math.floor((e.offsetY / height) * steps.ranks.length), steps.ranks.length),
    inside(Math.floor((e.offsetX / across) * steps.steps.length), steps.steps.length),
  ];
  const placeOf = ([r, c]: Cell) => ({ rank: steps.ranks[rows.order[r]!]!, step: steps.steps[c]! });
  const move = (e: KeyboardEvent) => {
    const by = ARROWS[e.key];
    if (e.key === 'Enter' && row >= 0) navigator.show(placeOf([row, Math.max(0, column)]));
    else if (by) {
      const next = placeOf([
        inside(Math.max(0, row) + by[0], steps.ranks.length),
        inside(Math.max(0, column) + by[1], steps.steps.length),
      ]);
      navigator.mark(next.rank, next.step);
    } else return;
    e.preventDefault();
  };
  return (
    <div
      class="cells"
      style={{ height: `${height}px` }}
      role="application"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move through the cells
      tabIndex={0}
      aria-label={`${metricName(metric.name)} of ${steps.ranks.length} ranks in ${steps.steps.length} steps. Arrow keys move from cell to cell.`}
      onKeyDown={move}
    >
      <canvas
        ref={canvas}
        onClick={(e) => navigator.show(placeOf(cellAt(e)))}
        onMouseMove={(e) => {
          hovered.value = cellAt(e);
        }}
        onMouseLeave={() => {
          hovered.value = null;
        }}
      />
      {row >= 0 && column >= 0 && (
        <i
          class="chosen"
          style={{
            top: `${(100 * row) / steps.ranks.length}%`,
            left: `${(100 * column) / steps.steps.length}%`,
            height: `${100 / steps.ranks.length}%`,
            width: `${100 / steps.steps.length}%`,
          }}
        />
      )}
    </div>
  );
}

const columnOf = ({ steps, stepsPerColumn }: RankSteps, step: number | null): number =>
  step === null
    ? -1
    : steps.findLastIndex((first, i) => first <= step && (stepsPerColumn > 1 || steps[i] === step));

function draw(
  canvas: HTMLCanvasElement,
  steps: RankSteps,
  metric: StepMetric,
  rows: GridRows,
  colors: Colors,
  width: number,
  height: number,
): void {
  const scale = devicePixelRatio || 1;
  const [columns, ranks] = [steps.steps.length, steps.ranks.length];
  canvas.width = width * scale;
  canvas.height = height * scale;
  const [across, down] = [Math.min(columns, canvas.width), Math.min(ranks, canvas.height)];
  const small = new OffscreenCanvas(across, down);
  const pixels = paint(metric, rows, columns, across, down, colors);
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer as ArrayBuffer), across, down);
  small.getContext('2d')!.putImageData(image, 0, 0);
  const context = canvas.getContext('2d')!;
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  // Lines between cells that are large enough to have them.
  context.fillStyle = getComputedStyle(canvas).getPropertyValue('--panel');
  const [cellWidth, cellHeight] = [canvas.width / columns, canvas.height / ranks];
  if (cellWidth >= 6 * scale)
    for (let c = 1; c < columns; c++) context.fillRect(Math.round(c * cellWidth), 0, scale, canvas.height);
  if (cellHeight >= 6 * scale)
    for (let r = 1; r < ranks; r++) context.fillRect(0, Math.round(r * cellHeight), canvas.width, scale);
}

/** Labels that have room. Those of late ranks come first. */
function RowLabels({
  steps,
  rows,
  late,
  height,
}: {
  steps: RankSteps;
  rows: GridRows;
  late: ReadonlySet<number>;
  height: number;
}) {
  const each = height / steps.ranks.length;
  const taken: number[] = [];
  const isFree = (row: number) => taken.every((other) => Math.abs(other - row) * each >= LABEL_HEIGHT);
  const isLate = (row: number) => late.has(steps.ranks[rows.order[row]!]!);
  const wanted = rows.order
    .map((_, row) => row)
    .sort((a, b) => Number(isLate(b)) - Number(isLate(a)) || a - b);
  for (const row of wanted) {
    if (taken.length > MOST_HEIGHT / LABEL_HEIGHT) break;
    if (isFree(row)) taken.push(row);
  }
  return (
    <div class="rows" style={{ height: `${height}px` }} aria-hidden="true">
      {rows.groups.map((g) => (
        <span
          key={g.name}
          class="group"
          style={{ top: `${g.from * each}px`, height: `${(g.to - g.from) * each}px` }}
          title={g.name}
        >
          {(g.to - g.from) * each >= LABEL_HEIGHT ? g.name : ''}
        </span>
      ))}
      {taken.map((row) => (
        <span key={row} class={isLate(row) ? 'row late' : 'row'} style={{ top: `${(row + 0.5) * each}px` }}>
          {isLate(row) ? 'late ▸ ' : ''}rank {steps.ranks[rows.order[row]!]}
        </span>
      ))}
    </div>
  );
}

/** `Rank 5, step 12: own time 57 ms`. */
function describe(steps: RankSteps, metric: StepMetric, rows: GridRows, [row, column]: Cell): string | null {
  if (row < 0 || column < 0) return null;
  const index = rows.order[row]!;
  const time = decodeTime(metric, index * steps.steps.length + column);
  const several = steps.stepsPerColumn > 1 ? ` (slowest of ${steps.stepsPerColumn} steps)` : '';
  const value = Number.isNaN(time) ? 'not recorded' : formatTime(toMs(ns(time)));
  const host = steps.hosts[index] ? ` on ${steps.hosts[index]}` : '';
  return `Rank ${steps.ranks[index]}${host}, step ${steps.steps[column]}${several}: ${metricName(metric.name).toLowerCase()} ${value}`;
}
