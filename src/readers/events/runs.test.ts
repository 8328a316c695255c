import { describe, expect, it } from 'vitest';
import { draw, faults, read, row } from '../../../test/helpers/events.js';

/** `a1 b1 a2` into records of phases a and b; `@1` after a token is rank 1, `/x` the run id x, `H` and `Hx` are headers. */
function steps(text: string): string {
  const line = (token: string): string => {
    if (token.startsWith('H'))
      return token === 'H' ? '{"whyslow": 1}' : `{"whyslow": 1, "run": "${token.slice(1)}"}`;
    const [, name = '', step, rank, run] = /^([a-z]+)(\d+)(?:@(\d))?(?:\/(\w+))?$/.exec(token) ?? [];
    return row(name, Number(step), 1, run ? `, "run": "${run}"` : '', Number(rank ?? 0));
  };
  return text.trim().split(/\s+/).map(line).join('\n');
}

/** The runs as `id: a1 b1`, in the notation of `steps`. */
function runsOf(text: string): string[] {
  return read(steps(text)).runs.map((run) => {
    const rows = draw(run).map((r) =>
      r.replace('@', '').replace(/ r(\d) 1$/, (_, rank) => (rank === '0' ? '' : `@${rank}`)),
    );
    return [...(run.id === null ? [] : [`${run.id}:`]), ...(run.header ? ['H'] : []), ...rows].join(' ');
  });
}

describe('runs', () => {
  it.each<[string, string, string[]]>([
    ['one run', 'a1 b1 a2 b2', ['a1 b1 a2 b2']],
    ['a restart from the start', 'a0 b0 a9 b9 a0 b0 a9', ['a0 b0 a9 b9', 'a0 b0 a9']],
    ['a restart from a checkpoint', 'a10 b10 a20 b20 a11 b11', ['a10 b10 a20 b20', 'a11 b11']],
    ['a restart with a phase not seen before, below the first step', 'a10 a20 c5 a5', ['a10 a20', 'c5 a5']],
    ['one flush written phase by phase', 'a1 a2 a3 b1 b2 b3 a4 b4', ['a1 a2 a3 b1 b2 b3 a4 b4']],
    ['three runs', 'a5 a4 a3', ['a5', 'a4', 'a3']],
    ['ranks each with steps of their own', 'a1 a2 a1@1 a2@1', ['a1 a2 a1@1 a2@1']],
    ['ranks that restart one after the other', 'a1 a8@1 a9 a2 a9@1 a3@1', ['a1 a8@1 a9 a9@1', 'a2 a3@1']],
    ['a header starts a run', 'Hx a1 a2 Hy a1', ['x: H a1 a2', 'y: H a1']],
    ['a header with the same id too', 'Hx a1 Hx a2', ['x: H a1', 'x: H a2']],
    ['a header in a file that began without one', 'a1 a2 Hx a3', ['a1 a2', 'x: H a3']],
    ['under a header steps may go back', 'Hx a5 b5 a2', ['x: H a5 b5 a2']],
    ['run ids of records', 'a1/x a2/x a1/y', ['x: a1 a2', 'y: a1']],
    ['interleaved run ids', 'a1/x a1/y a2/x a2/y', ['x: a1 a2', 'y: a1 a2']],
    ['a record without run id stays in the current run', 'a1/x a2', ['x: a1 a2']],
    ['a header without run id takes that of the records', 'H a1/x a2/x', ['x: H a1 a2']],
    [
      'a record continues the latest run of its id',
      'Hx a1/x Hx a5/x Hy a1/y a6/x',
      ['x: H a1', 'x: H a5 a6', 'y: H a1'],
    ],
  ])('%s', (_, text, expected) => {
    expect(runsOf(text)).toEqual(expected);
  });

  it('says so, with the line where the second begins', () => {
    expect(faults(read(steps('a1 a2 a1 a2 a1')))).toEqual(['several-runs×2@3']);
    expect(faults(read(steps('Hx a1 Hy a1')))).toEqual(['several-runs×1@3']);
    expect(faults(read(steps('a1/x a1/y')))).toEqual(['several-runs×1@2']);
    expect(faults(read(steps('a1 a2')))).toEqual([]);
  });

  it('counts steps that go back under a header', () => {
    expect(faults(read(steps('Hx a5 b5 a2 b2 a3 a3')))).toEqual(['step-order×2@4', 'duplicate-record×1@7']);
  });

  it('does not count a step trained again in another run as a duplicate', () => {
    expect(faults(read(steps('a1 a2 a1')))).toEqual(['several-runs×1@3']);
    expect(faults(read(steps('a1/x a1/y')))).toEqual(['several-runs×1@2']);
  });
});
