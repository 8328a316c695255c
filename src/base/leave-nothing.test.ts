import { afterEach, describe, expect, it } from 'vitest';
import { leaveNothing } from './leave-nothing.js';

/** Somebody else who listens: the process lives on. */
const other = () => {};

describe('leaveNothing', () => {
  afterEach(() => {
    process.off('SIGHUP', other);
  });

  it('undoes all that is unfinished when a signal comes, once', () => {
    const listeners = process.listenerCount('SIGINT');
    const undone: string[] = [];
    process.on('SIGHUP', other);
    leaveNothing(() => undone.push('a'));
    leaveNothing(() => undone.push('b'));
    leaveNothing(() => undone.push('finished'))();
    process.emit('SIGHUP', 'SIGHUP');
    process.emit('SIGHUP', 'SIGHUP');
    expect(undone).toEqual(['a', 'b']);
    expect(process.listenerCount('SIGINT')).toBe(listeners);
  });
});
