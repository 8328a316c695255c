import { signal } from '@preact/signals';
import { render } from 'preact';
import { serverSource } from './source.js';
import { Timeline, type TimelineFocus, type TimelineView } from './Timeline.js';
import { showMarks } from './visible-marks.js';

/** The timeline alone, as a page of its own. */
export async function showTimeline(root: Element): Promise<void> {
  showMarks();
  const source = await serverSource();
  const view = signal<TimelineView>({ from: 0, to: 0, ranks: [] });
  const focus = signal<TimelineFocus | null>(null);
  if (source) render(<Timeline source={source} view={view} focus={focus} />, root);
  else render(<p>There is no trace to draw.</p>, root);
}
