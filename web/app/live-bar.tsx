import type { Signal } from '@preact/signals';
import { formatDuration, seconds } from '../../src/base/units.js';
import type { Job } from './shown-page.js';

/** How far the job is, and how old what the page says. Nothing for a page that does not change. */
export function LiveBar({ job }: { readonly job: Signal<Job | null> }) {
  const { value } = job;
  if (!value) return null;
  const { state, age, isLost } = value;
  const so = state.lastStep === null ? 'no step recorded yet' : `measured up to step ${state.lastStep}`;
  if (isLost)
    return (
      <p class="live lost">
        <b>No longer updated</b> whyslow has ended, and this page with it. To see the run again:{' '}
        <code>whyslow open {state.folder}</code>
      </p>
    );
  if (state.of === 'ended')
    return (
      <p class="live ended">
        <b>Ended</b>{' '}
        {state.lastStep === null ? 'no step was recorded' : `measured up to step ${state.lastStep}`}
      </p>
    );
  return (
    <p class="live">
      <b>Running</b> {so}
      {state.lastStep !== null && `, updated ${ageOf(age)} ago`}
    </p>
  );
}

const ageOf = (age: number): string => (age < 60 ? `${Math.round(age)} s` : formatDuration(seconds(age)));

/** A job has started and has recorded too little to say anything. */
export function Waiting({ ended }: { readonly ended: boolean }) {
  return (
    <main class="waiting">
      <h1>{ended ? 'The job ended before a step was recorded' : 'Waiting for the first steps'}</h1>
      <p class="lead">
        {ended
          ? 'The terminal shows what was measured, or why nothing was.'
          : 'The job is running. Its first steps appear here automatically, and a verdict as soon as there are enough of them.'}
      </p>
    </main>
  );
}
