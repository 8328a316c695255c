import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { App } from './app.js';
import { Drop } from './drop.js';
import { DropAnother, DropState, Invitation } from './drop-parts.js';
import { Failed } from './failed.js';
import { LiveBar, Waiting } from './live-bar.js';
import { Navigator } from './navigator.js';
import { ShownPage } from './shown-page.js';
import { droppedSource, type PageSource } from './source.js';
import { NOWHERE, windowView } from './view-state.js';

/** The page of a source, in whatever state it is, until a trace is dropped onto it. */
export function Root({ source }: { readonly source: PageSource }) {
  const view = useMemo(windowView, []);
  const current = useSignal(source);
  const shown = useMemo(() => new ShownPage(current.value), [current.value]);
  const navigator = useMemo(() => new Navigator(view), [shown]);
  const drop = useMemo(
    () =>
      new Drop((trace) => {
        view.value = NOWHERE;
        current.value = droppedSource(trace);
        scrollTo(0, 0);
      }),
    [],
  );
  useEffect(() => void shown.start(), [shown]);
  const job = shown.job.value;
  const page = shown.page.value;
  // A file has no thread to read with, and the page of a job goes on by itself.
  const takesFiles = source.origin === 'server' && !job;
  useEffect(() => (takesFiles ? drop.listen() : undefined), [takesFiles]);
  if (shown.failure.value !== null)
    return <Failed why={shown.failure.value} command="whyslow diagnose --html" />;
  return (
    <>
      <LiveBar job={shown.job} />
      {takesFiles && <DropState drop={drop} />}
      {page && (
        <App key={shown} page={page} source={current.value} navigator={navigator} isLive={job !== null} />
      )}
      {!page && job && <Waiting ended={job.state.of === 'ended'} />}
      {shown.isEmpty.value && <Invitation drop={drop} />}
      {page && takesFiles && <DropAnother drop={drop} />}
    </>
  );
}
