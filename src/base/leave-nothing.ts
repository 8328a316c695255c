/** Ctrl-C, a scheduler that stops the job, a terminal that is closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls `undo` if the process ends before the returned function is called: by Ctrl-C, a signal or an exit. The process
 * then dies of the signal as it would have, unless somebody else listens to it.
 */
export function leaveNothing(undo: () => void): () => void {
  const die = (signal: NodeJS.Signals) => {
    keep();
    undo();
    // `once` has removed this listener. The last of several ends the process.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const keep = () => {
    process.off('exit', undo);
    for (const signal of SIGNALS) process.off(signal, die);
  };
  process.once('exit', undo);
  for (const signal of SIGNALS) process.once(signal, die);
  return keep;
}
