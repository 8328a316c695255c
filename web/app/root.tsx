import { useEffect, useMemo } from 'preact/hooks';
import { App } from './app.js';
import { LiveBar, Waiting } from './live-bar.js';
import { Navigator } from './navigator.js';
import { ShownPage } from './shown-page.js';
import type { PageSource } from './source.js';
import { windowView } from './view-state.js';

/** The page of a source, in whatever state it is. */
export function Root({ source }: { readonly source: PageSource }) {
  const view = useMemo(windowView, []);
  const shown = useMemo(() => new ShownPage(source), [source]);
  const navigator = useMemo(() => new Navigator(view), [view, source]);
  useEffect(() => void shown.start(), [shown]);
  const page = shown.page.value;
  if (shown.failure.value !== null) return <Failed why={shown.failure.value} />;
  const job = shown.job.value;
  return (
    <>
      <LiveBar job={shown.job} />
      {page ? (
        <App page={page} source={source} navigator={navigator} />
      ) : (
        job && <Waiting ended={job.state.of === 'ended'} />
      )}
    </>
  );
}

function Failed({ why }: { readonly why: string }) {
  return (
    <main class="failed">
      <h1>The page could not be read</h1>
      <p>{why}</p>
      <p>If the file was cut off while it was copied, write it again with whyslow diagnose --html.</p>
    </main>
  );
}
