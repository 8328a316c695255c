/** Code of a note on an event log: the job records most of its own steps with a profiler. */
export const PROFILER_LEFT_ON = 'profiler-left-on';
