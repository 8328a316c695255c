import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { PageData } from '../../src/page/page-data.js';
import type { TimelineSource } from '../timeline/source.js';
import { Timeline } from '../timeline/Timeline.js';
import type { Navigator } from './navigator.js';
import { isFile, type PageSource } from './source.js';

interface TimelineProps {
  readonly page: PageData;
  readonly source: PageSource;
  readonly navigator: Navigator;
}

/** The timeline, or why there is none. */
export function TimelineSection({ page, source, navigator }: TimelineProps) {
  const timeline = useSignal<TimelineSource | null | 'loading'>('loading');
  useEffect(() => {
    source.timeline().then(
      async (found) => {
        if (found) await navigator.follow(found);
        timeline.value = found;
      },
      () => {
        timeline.value = null;
      },
    );
  }, [source, navigator, timeline, tracesOf(page)]);
  const found = timeline.value;
  return (
    <section
      aria-labelledby="timeline-title"
      id="timeline"
      class={found && found !== 'loading' ? 'wide' : ''}
    >
      <h2 id="timeline-title">Timeline</h2>
      {found === 'loading' && <p class="muted">The timeline is being read …</p>}
      {found === null && <p class="muted">{whyNone(page)}</p>}
      {found && found !== 'loading' && (
        <Timeline source={found} view={navigator.timelineView} focus={navigator.focus} />
      )}
    </section>
  );
}

const isTrace = ({ kind }: { readonly kind: string }): boolean =>
  ['kineto', 'perfetto', 'nsys'].includes(kind);

/** While a job runs, the timeline stays as it is until there are other traces. */
const tracesOf = ({ report }: PageData): string =>
  report.inputs
    .filter(isTrace)
    .map((i) => `${i.path} ${i.bytes}`)
    .join('\n');

function whyNone({ report }: PageData): string {
  const traced = report.inputs.some(isTrace);
  if (!traced) return 'There is no trace, so what ran when is unknown.';
  return isFile()
    ? 'This file has no timeline in it. whyslow open, with the same files, shows it.'
    : 'No trace of this run can be drawn.';
}
