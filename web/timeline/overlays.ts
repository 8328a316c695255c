import { formatNs } from './names.js';
import type { Palette } from './palette.js';
import { MINIMAP, RULER, type Scene, TOP } from './scene.js';
import type { Arrow, TimelinePoint } from './source.js';

/** What is drawn over the slices: selection, hits, arrows, the critical path, the time under the pointer. */
export function drawOverlays(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { css }: Palette,
  width: number,
  height: number,
): void {
  context.save();
  context.beginPath();
  context.rect(scene.gutter, TOP, width - scene.gutter, height - TOP);
  context.clip();
  const xOf = (time: number) => scene.gutter + (time - scene.from) / scene.nsPerPixel;
  drawPath(context, scene, css.mark, xOf);
  context.strokeStyle = css.accent;
  context.lineWidth = 2;
  for (const hit of scene.hits) outline(context, scene, hit, xOf, width);
  if (scene.range) {
    const [x0, x1] = [xOf(scene.range.from), xOf(scene.range.to)];
    context.globalAlpha = 0.12;
    context.fillStyle = css.accent;
    context.fillRect(x0, TOP, x1 - x0, height - TOP);
    context.globalAlpha = 1;
    context.fillRect(x0, TOP, 1, height - TOP);
    context.fillRect(x1, TOP, 1, height - TOP);
    const label = scene.range.label ?? formatNs(scene.range.to - scene.range.from);
    context.font = '600 11px system-ui, sans-serif';
    context.fillText(label, Math.max(scene.gutter, x0) + 5, height - 10);
  }
  const faint = scene.arrows.length > 60 ? 0.35 : 0.7;
  for (const arrow of scene.arrows) drawArrow(context, scene, arrow, css, faint, xOf);
  for (const arrow of scene.ownArrows) drawArrow(context, scene, arrow, css, 1, xOf);
  if (scene.selected) {
    context.strokeStyle = css.text;
    context.lineWidth = 2;
    outline(context, scene, scene.selected, xOf, width);
  }
  if (scene.hover && scene.hover.x > scene.gutter) {
    context.fillStyle = css.muted;
    context.globalAlpha = 0.5;
    context.fillRect(Math.round(scene.hover.x), MINIMAP + RULER, 1, height);
    context.globalAlpha = 1;
  }
  context.restore();
}

function laneOf(scene: Scene, rank: number, track: number) {
  return scene.lanes.find((l) => l.kind === 'track' && l.line.rank === rank && l.track === track) ?? null;
}

/** Middle of the row of a point; rows that are not shown count as the first. Null: its track is not shown. */
function yOf(scene: Scene, { rank, track, row }: Omit<TimelinePoint, 'time'>): number | null {
  const lane = laneOf(scene, rank, track);
  if (!lane) return null;
  return (
    TOP +
    lane.y -
    scene.scrollTop +
    (Math.min(Math.max(0, row - lane.firstRow), lane.rows - 1) + 0.5) * lane.rowHeight
  );
}

function outline(
  context: CanvasRenderingContext2D,
  scene: Scene,
  slice: Omit<TimelinePoint, 'time'> & { readonly start: number; readonly end: number },
  xOf: (time: number) => number,
  width: number,
): void {
  const y = yOf(scene, slice);
  const [x0, x1] = [xOf(slice.start), xOf(slice.end)];
  if (y === null || x1 < scene.gutter || x0 > width) return;
  const left = Math.max(x0, scene.gutter - 4);
  context.strokeRect(left, y - 8.5, Math.max(3, Math.min(x1, width + 4) - left), 16);
}

const LATE_DASH = [4, 3];

function drawArrow(
  context: CanvasRenderingContext2D,
  scene: Scene,
  { kind, from, to }: Arrow,
  css: Palette['css'],
  alpha: number,
  xOf: (time: number) => number,
): void {
  const [y0, y1] = [yOf(scene, from), yOf(scene, to)];
  if (y0 === null || y1 === null) return;
  const [x0, x1] = [xOf(from.time), xOf(to.time)];
  context.globalAlpha = alpha;
  context.strokeStyle = kind === 'late' ? css.text : css.muted;
  context.fillStyle = context.strokeStyle;
  context.lineWidth = 1;
  context.setLineDash(kind === 'late' ? LATE_DASH : []);
  context.beginPath();
  context.moveTo(x0, y0);
  const bend = Math.min(40, Math.max(8, Math.abs(x1 - x0) / 2));
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 4, y1);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 6, y1 - 3);
  context.lineTo(x1 - 6, y1 + 3);
  context.fill();
  context.globalAlpha = 1;
}

/** A line under the row of time classes of the rank that sets the pace, and from one rank to the next. */
function drawPath(
  context: CanvasRenderingContext2D,
  scene: Scene,
  color: string,
  xOf: (time: number) => number,
): void {
  context.strokeStyle = color;
  context.fillStyle = color;
  context.lineWidth = 1.5;
  let before: { readonly x: number; readonly y: number } | null = null;
  for (const piece of scene.path) {
    const y = yOf(scene, { rank: piece.rank, track: 0, row: 0 });
    const [x0, x1] = [xOf(piece.from), xOf(piece.to)];
    if (y === null) {
      before = null;
      continue;
    }
    const line = y + 8;
    context.fillRect(x0, line, Math.max(1, x1 - x0), 3);
    if (before && Math.abs(before.x - x0) < 400) {
      context.beginPath();
      context.moveTo(before.x, before.y + 1);
      context.lineTo(x0, line + 1);
      context.stroke();
    }
    before = { x: x1, y: line };
  }
}
