/** Launchers prefix the lines of ranks. */
const PREFIX = /^(?:\[rank\d+\]:\s?|\[default\d+\]:\s?)/;
const ERROR = /^(?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt|Exit|Failed)\b(?::.*)?$/;
/** Of launchers: they say that a rank has failed, not why. */
const ABOUT_RANKS = /ChildFailedError|ProcessRaisedException|CalledProcessError/;
const MAX_LENGTH = 200;

/** The first error of the last traceback in a job's output that says why it failed. Null: it says nothing. */
export function failureIn(text: string): string | null {
  const lines = text
    .split(/\r?\n|\r/)
    .map((line) => line.replace(PREFIX, '').trimEnd())
    .filter((line) => line.trim() !== '');
  const errors = lines.filter((line) => ERROR.test(line));
  const found = errors.findLast((line) => !ABOUT_RANKS.test(line)) ?? errors.at(-1) ?? lines.at(-1);
  return found ? found.trim().slice(0, MAX_LENGTH) : null;
}
