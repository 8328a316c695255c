import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import './timeline.css';
import { Controller, type TimelineFocus, type TimelineView } from './controller.js';
import { listen } from './input.js';
import { PickedPanel } from './picked.js';
import type { TimelineSource } from './source.js';
import { Toolbar } from './toolbar.js';

export type { TimelineFocus, TimelineView } from './controller.js';

interface TimelineProps {
  readonly source: TimelineSource;
  readonly view: Signal<TimelineView>;
  readonly focus: Signal<TimelineFocus | null>;
}

const KEYS =
  'Timeline. W and S zoom, A and D move, arrow up and down scroll, 0 shows the whole recording, N goes to the next search hit, F fits the selection, Escape clears it.';

/** The ranks of a run side by side, down to the kernel. */
export function Timeline({ source, view, focus }: TimelineProps) {
  const root = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const mounted = useSignal<Controller | null>(null);
  useEffect(() => {
    // Kept here: the references are gone before the observer stops.
    const [box, face] = [scroller.current!, root.current!];
    const timeline = new Controller(source, canvas.current!, view);
    const stopListening = listen(canvas.current!, box, timeline);
    const size = () => {
      const { clientWidth, clientHeight } = box;
      timeline.resize(clientWidth, clientHeight);
    };
    const observer = new ResizeObserver(size);
    observer.observe(box);
    size();
    timeline.newColors(face);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const recolor = () => timeline.newColors(face);
    dark.addEventListener('change', recolor);
    const scrolled = () => timeline.scrolled(box.scrollTop);
    box.addEventListener('scroll', scrolled, { passive: true });
    const unfollow: (() => void)[] = [];
    timeline
      .start()
      .then(() => {
        unfollow.push(view.subscribe((v) => timeline.follow(v)));
        unfollow.push(focus.subscribe((f) => f && timeline.focusOn(f)));
      })
      .catch((error: unknown) => timeline.fail(error));
    mounted.value = timeline;
    return () => {
      for (const stop of unfollow) stop();
      stopListening();
      observer.disconnect();
      dark.removeEventListener('change', recolor);
      timeline.close();
      mounted.value = null;
    };
  }, [source]);
  return (
    <section class="tl" ref={root} aria-label="Timeline">
      {mounted.value && <Toolbar controller={mounted.value} canvas={canvas} />}
      <div class="tl-scroller" ref={scroller}>
        {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it answers keys of its own, as an application does */}
        <canvas class="tl-canvas" ref={canvas} tabIndex={0} role="application" aria-label={KEYS} />
        {mounted.value && <Spacer controller={mounted.value} />}
      </div>
      {mounted.value && <Tooltip controller={mounted.value} />}
      {mounted.value && <PickedPanel controller={mounted.value} />}
    </section>
  );
}

/** Gives the scroller the height of all tracks. The canvas stays in place and draws the visible part. */
function Spacer({ controller }: { readonly controller: Controller }) {
  const height = controller.shown.contentHeight.value;
  const grow = (el: HTMLElement | null) => {
    el?.style.setProperty('height', `${height}px`);
    el?.parentElement?.style.setProperty('--tl-content', `${height + 12}px`);
  };
  return <div class="tl-spacer" ref={grow} />;
}

function Tooltip({ controller }: { readonly controller: Controller }) {
  const hover = controller.hover.value;
  if (!hover) return null;
  const place = (el: HTMLElement | null) => {
    const [root, canvas] = [el?.parentElement, el?.parentElement?.querySelector('.tl-canvas')];
    if (!el || !root || !canvas) return;
    const [outer, inner] = [root.getBoundingClientRect(), canvas.getBoundingClientRect()];
    const left = Math.min(inner.left - outer.left + hover.x + 14, outer.width - el.offsetWidth - 8);
    const top = Math.min(inner.top - outer.top + hover.y + 18, outer.height - el.offsetHeight - 8);
    el.style.setProperty('transform', `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`);
  };
  return (
    <div class="tl-tooltip" ref={place} aria-hidden="true">
      <b>{hover.name}</b>
      {hover.lines.map((line) => (
        <span key={line}>{line}</span>
      ))}
    </div>
  );
}
