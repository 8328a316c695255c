/** Code of a note on an event log: the job records most of its own steps with a profiler. */
export const PROFILER_LEFT_ON = 'profiler-left-on';

/** Code of a note: if the delay of a late rank is hidden, another rank sets the pace than it seems. */
export const MAY_BE_HIDDEN = 'delay-may-be-hidden';
