import type { Controller } from './controller.js';
import { MINIMAP, RULER } from './scene.js';

const ZOOM_PER_PIXEL = 0.0022;
/** Views per second while a key is held. */
const KEY_PAN = 0.9;
const KEY_ZOOM = 2.2;
/** Less than this is a click. CSS pixels. */
const CLICK = 4;
const HELD = new Set(['w', 'a', 's', 'd', 'ArrowLeft', 'ArrowRight']);

interface Drag {
  readonly kind: 'range' | 'pan' | 'minimap';
  readonly x: number;
  readonly y: number;
  lastX: number;
  lastY: number;
  moved: boolean;
}

/** Pointer, wheel and keys, as in Perfetto. Returns how to stop listening. */
export function listen(canvas: HTMLCanvasElement, scroller: HTMLElement, controller: Controller): () => void {
  const { viewport, selection, shown } = controller;
  const stop = new AbortController();
  const { signal } = stop;
  let drag: Drag | null = null;
  const touches = new Map<number, { x: number; y: number }>();
  const place = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  scroller.addEventListener(
    'wheel',
    (event) => {
      const { x } = place(event);
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        viewport.zoom(Math.exp(event.deltaY * unit * ZOOM_PER_PIXEL * (event.deltaMode === 1 ? 3 : 1)), x);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        viewport.pan((event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX) * unit);
      }
    },
    { signal, passive: false },
  );

  canvas.addEventListener(
    'pointerdown',
    (event) => {
      const { x, y } = place(event);
      if (event.button > 1) return;
      canvas.setPointerCapture(event.pointerId);
      if (event.pointerType === 'touch') touches.set(event.pointerId, { x, y });
      const part = partAt(y);
      const pans = event.shiftKey || event.button === 1 || event.pointerType === 'touch' || part === 'ruler';
      drag = {
        kind: part === 'minimap' ? 'minimap' : pans ? 'pan' : 'range',
        x,
        y,
        lastX: x,
        lastY: y,
        moved: false,
      };
      if (part === 'minimap') viewport.centerAt(x);
      controller.hover.value = null;
    },
    { signal },
  );

  canvas.addEventListener(
    'pointermove',
    (event) => {
      const { x, y } = place(event);
      if (touches.size === 2 && touches.has(event.pointerId)) return pinch(event.pointerId, x, y);
      if (!drag) return controller.pointAt(x, y);
      drag.moved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > CLICK;
      if (!drag.moved) return;
      if (drag.kind === 'minimap') viewport.centerAt(x);
      else if (drag.kind === 'range') selection.dragRange(rangeOf(drag, x, y));
      else {
        viewport.pan(drag.lastX - x);
        scroller.scrollTop += drag.lastY - y;
      }
      drag.lastX = x;
      drag.lastY = y;
    },
    { signal },
  );

  const release = (event: PointerEvent) => {
    const { x, y } = place(event);
    touches.delete(event.pointerId);
    const done = drag;
    drag = null;
    if (!done || event.type === 'pointercancel') return;
    if (!done.moved) void controller.click(x, y);
    else if (done.kind === 'range') void selection.selectRange(rangeOf(done, x, y));
  };
  canvas.addEventListener('pointerup', release, { signal });
  canvas.addEventListener('pointercancel', release, { signal });
  canvas.addEventListener('pointerleave', () => controller.leave(), { signal });

  function pinch(id: number, x: number, y: number): void {
    const spread = () => {
      const [a = 0, b = 0] = Array.from(touches.values(), (t) => t.x);
      return { width: Math.abs(a - b), middle: (a + b) / 2 };
    };
    const before = spread();
    touches.set(id, { x, y });
    const after = spread();
    if (before.width > 8 && after.width > 8) viewport.zoom(before.width / after.width, after.middle);
    if (drag) drag.moved = true;
  }

  /** The dragged time, on the ranks between the two ends. */
  function rangeOf({ x, y }: Drag, toX: number, toY: number) {
    const [from, to] = [viewport.timeAt(Math.min(x, toX)), viewport.timeAt(Math.max(x, toX))];
    const lanes = controller.scene.lanes;
    const [top, bottom] = [Math.min(y, toY), Math.max(y, toY)].map((at) => shown.laneAt(at));
    const [first, last] = [top ? lanes.indexOf(top) : 0, bottom ? lanes.indexOf(bottom) : lanes.length - 1];
    const inside = lanes.slice(Math.max(0, first), last + 1).map((l) => l.line.rank);
    return { from, to, ranks: [...new Set(inside)] };
  }

  const held = new Set<string>();
  let lastFrame = 0;
  const move = (now: number) => {
    if (held.size === 0 || signal.aborted) return;
    const seconds = Math.min(0.05, (now - lastFrame) / 1000);
    lastFrame = now;
    const has = (...keys: string[]) => keys.some((k) => held.has(k));
    const pan = Number(has('d', 'ArrowRight')) - Number(has('a', 'ArrowLeft'));
    const zoom = Number(has('s')) - Number(has('w'));
    if (pan !== 0) viewport.pan(pan * viewport.plotWidth * KEY_PAN * seconds);
    if (zoom !== 0) viewport.zoom(KEY_ZOOM ** (zoom * 2 * seconds), controller.scene.hover?.x);
    requestAnimationFrame(move);
  };
  canvas.addEventListener(
    'keydown',
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      if (HELD.has(key)) {
        if (held.size === 0) {
          lastFrame = performance.now() - 16;
          requestAnimationFrame(move);
        }
        held.add(key);
      } else if (key === 'ArrowDown') scroller.scrollTop += 60;
      else if (key === 'ArrowUp') scroller.scrollTop -= 60;
      else if (key === '+' || key === '=') viewport.zoom(0.6);
      else if (key === '-') viewport.zoom(1 / 0.6);
      else if (key === '0') viewport.showWhole();
      else if (key === 'f') selection.fit();
      else if (key === 'n') void controller.search.step(event.shiftKey ? -1 : 1);
      else if (key === 'Escape') selection.clear();
      else return;
      event.preventDefault();
    },
    { signal },
  );
  const up = (event: KeyboardEvent) => {
    held.delete(event.key.length === 1 ? event.key.toLowerCase() : event.key);
  };
  canvas.addEventListener('keyup', up, { signal });
  canvas.addEventListener('blur', () => held.clear(), { signal });
  return () => stop.abort();
}

function partAt(y: number): 'minimap' | 'ruler' | 'plot' {
  return y < MINIMAP ? 'minimap' : y < MINIMAP + RULER ? 'ruler' : 'plot';
}
