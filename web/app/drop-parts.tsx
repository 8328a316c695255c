import { bytes, formatBytes } from '../../src/base/units.js';
import type { Drop } from './drop.js';

/** Chooses a trace without dragging it. */
function Choose({ drop }: { readonly drop: Drop }) {
  return (
    <label class="choose">
      Choose a trace
      <input
        type="file"
        onChange={({ currentTarget }) => {
          void drop.take([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
    </label>
  );
}

/** The page of `whyslow open` without a path. */
export function Invitation({ drop }: { readonly drop: Drop }) {
  return (
    <main class="invitation">
      <h1>Drop a trace here to see why training is slow</h1>
      <p class="lead">
        A trace of torch.profiler, as .json, .json.gz or .pftrace. It is read in this browser: nothing is
        uploaded.
      </p>
      <Choose drop={drop} />
      <p class="muted">
        For a folder, several ranks or another format: <code>whyslow open PATH</code>
      </p>
    </main>
  );
}

/** Below the page of a run. */
export function DropAnother({ drop }: { readonly drop: Drop }) {
  return (
    <footer class="another">
      <p>To look at another trace, drop it onto this page. It is read in this browser.</p>
      <Choose drop={drop} />
    </footer>
  );
}

/** What becomes of the trace that was dropped. */
export function DropState({ drop }: { readonly drop: Drop }) {
  const reading = drop.reading.value;
  if (drop.isOver.value)
    return (
      <p class="dropping" role="status">
        Drop the trace to read it here. Nothing is uploaded.
      </p>
    );
  if (reading?.is === 'reading')
    return (
      <p class="dropping" role="status">
        Reading {reading.name}: {formatBytes(bytes(reading.bytes))}
      </p>
    );
  if (reading?.is !== 'refused') return null;
  return (
    <div class="dropping refused" role="alert">
      <p>{reading.why}.</p>
      <p>
        Run instead: <code>{reading.command}</code>
      </p>
      <button
        type="button"
        onClick={() => {
          drop.reading.value = null;
        }}
      >
        Close
      </button>
    </div>
  );
}
