import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import type { Controller } from './controller.js';
import { MOST_HITS } from './search.js';

interface ToolbarProps {
  readonly controller: Controller;
  readonly canvas: RefObject<HTMLCanvasElement | null>;
}

/** Search, ranks and zoom. */
export function Toolbar({ controller, canvas }: ToolbarProps) {
  const text = useSignal('');
  const { problem, search, shown, viewport } = controller;
  const found = search.hits.value;
  return (
    <div class="tl-toolbar">
      <form
        class="tl-search"
        onSubmit={(event) => {
          event.preventDefault();
          if (found && found.list.length > 0) void search.step(1);
          else void search.find(text.value, shown.ranks.value);
        }}
      >
        <input
          type="search"
          placeholder="Search kernels, operators …"
          aria-label="Search the timeline"
          onInput={(event) => {
            text.value = event.currentTarget.value;
            if (found) void search.find('', []);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') canvas.current?.focus();
            if (event.key !== 'Enter' || !event.shiftKey) return;
            event.preventDefault();
            void search.step(-1);
          }}
        />
        <button
          type="button"
          aria-label="Previous hit"
          onClick={() => search.step(-1)}
          disabled={!found?.list.length}
        >
          ‹
        </button>
        <button type="submit" aria-label="Next hit">
          ›
        </button>
        <output aria-live="polite">{found ? hitWords(found.list.length, found.at) : ''}</output>
      </form>
      <RankPicker controller={controller} />
      <label class="tl-check">
        <input
          type="checkbox"
          checked={controller.showsArrows.value}
          onChange={(event) => controller.setArrows(event.currentTarget.checked)}
        />
        Arrows
      </label>
      <div class="tl-zoom">
        <button type="button" aria-label="Zoom out" onClick={() => viewport.zoom(1.8)}>
          −
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => viewport.zoom(1 / 1.8)}>
          +
        </button>
        <button type="button" onClick={() => viewport.showWhole()}>
          Whole
        </button>
      </div>
      <span class="tl-hint">WASD or Ctrl+wheel · drag to select · Shift+drag to move</span>
      {problem.value !== null && (
        <p class="tl-problem" role="alert">
          {problem.value}
        </p>
      )}
      {(shown.tracks.value?.notes ?? []).map((note) => (
        <p class="tl-note" key={note}>
          {note}
        </p>
      ))}
    </div>
  );
}

/** Where the search ended early, there are more hits than it found. */
export const hitWords = (count: number, at: number) =>
  count === 0 ? 'nothing found' : `${at + 1} of ${count}${count < MOST_HITS ? '' : '+'}`;

/** More cannot be read side by side. */
const MOST_RANKS = 16;

/** A list such as `0, 4-7`. */
function RankPicker({ controller }: { readonly controller: Controller }) {
  const known = controller.shown.tracks.value?.ranks ?? [];
  if (known.length < 2) return null;
  const shown = controller.shown.ranks.value;
  return (
    <label class="tl-ranks">
      Ranks
      <input
        key={shown.join()}
        type="text"
        inputMode="numeric"
        defaultValue={formatList(shown)}
        title={`of ${known.length}, e.g. 0, 4-7`}
        onChange={(event) => {
          const wanted = parseList(event.currentTarget.value).filter((r) => known.some((k) => k.rank === r));
          if (wanted.length > 0) controller.showRanks(wanted.slice(0, MOST_RANKS));
        }}
      />
      <span>of {known.length}</span>
    </label>
  );
}

export function parseList(text: string): number[] {
  const ranks = new Set<number>();
  for (const part of text.split(/[,\s]+/)) {
    const [, from, to = from] = /^(\d{1,7})(?:[-–](\d{1,7}))?$/.exec(part) ?? [];
    if (from === undefined) continue;
    for (let r = Number(from); r <= Number(to) && ranks.size < 1000; r++) ranks.add(r);
  }
  return [...ranks];
}

export function formatList(ranks: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < ranks.length; i++) {
    const first = i;
    while (ranks[i + 1] === ranks[i]! + 1) i++;
    parts.push(i > first ? `${ranks[first]}-${ranks[i]}` : `${ranks[i]}`);
  }
  return parts.join(', ');
}
