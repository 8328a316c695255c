import { describe, expect, it } from 'vitest';
import {
  NO_STEP,
  sampleFinding,
  sampleRank,
  sampleReport,
  shares,
} from '../../../test/helpers/sample-reports.js';
import type { Plain } from '../../base/units.js';
import type { Report, ReportPath } from '../../report/report.js';
import { renderDiagnose } from './diagnose.js';
import { displayWidth } from './text.js';

const plain = (report: Report, more: { columns?: number; all?: boolean } = {}) =>
  renderDiagnose(report, { color: false, ...more });
const tooWide = (text: string, width = 80) => text.split('\n').filter((l) => displayWidth(l) > width);

const UNKNOWN = sampleReport({
  verdict: {
    bottleneck: 'unknown',
    cause: 'no-evidence',
    confidence: 0.2,
    label: 'Unknown',
    headline: 'the trace has no step marks and its GPU work is one long kernel',
    details: [],
    sentence: 'Unknown: the trace has no step marks and its GPU work is one long kernel',
    second: null,
    next: [
      'a trace with profiler.step() called once an iteration, three iterations long, after a warm-up',
      'event logs of all ranks',
    ],
  },
  findings: [],
  step: NO_STEP,
  time: shares({}),
});

const MANY_RANKS = sampleReport({
  verdict: {
    ...sampleReport().verdict,
    headline: 'rank 35 loads its batches late, and the others wait for it in every all_reduce',
    confidence: 0.6,
    second: 'host',
  },
  findings: [
    sampleFinding({ ranks: [35] }),
    sampleFinding({ rule: 'T9', title: 'fp32 GEMMs', cost: 'free', risk: 'numerics', ranks: [] }),
    sampleFinding({ rule: 'W1', title: 'a straggler', speedup: null, saving_ms: null, ranks: [] }),
    sampleFinding({ rule: 'T7', title: `prefetch_factor ${'of the loader '.repeat(8)}`, ranks: [] }),
    sampleFinding({ rule: 'W5', title: 'slow link', speedup: null, saving_ms: null, cost: 'hardware' }),
  ],
  ranks: Array.from({ length: 40 }, (_, r) =>
    sampleRank(r, r === 35 ? { time: shares({ idle_data: 0.8, compute: 0.2 }) } : {}),
  ),
  stragglers: [
    {
      ranks: [35],
      pattern: 'persistent',
      cause: 'data',
      cost_ms: 31.2,
      cost_high_ms: null,
      confidence: 0.97,
      sentence: 'Rank 35 is last in 3 of 3 steps: it waits 31.2 ms longer for its input than the median rank',
    },
  ],
  ignored: ['notes.txt', 'run.py', 'a', 'b'],
  health: {
    grade: 'usable',
    problems: [
      {
        severity: 'warning',
        code: 'truncated-json',
        count: 2,
        message: 'the file ends in the middle of an event',
        consequence: 'the last step is left out',
        first: { unit: 'byte', at: 12_345 },
        ranks: [0, 1],
      },
      {
        severity: 'note',
        code: 'no-shapes',
        count: 1,
        message: 'shapes were not recorded',
        consequence: 'GEMMs are distinguished by name only',
        first: null,
        ranks: [0],
      },
    ],
  },
});

const EVIL = 'kernel\x1b[2J\x1b]0;owned\x07\r\n\u202egnp.exe\u2066漢字🚀';
const HOSTILE = sampleReport({
  verdict: {
    ...sampleReport().verdict,
    label: EVIL,
    headline: EVIL.repeat(9),
    details: [EVIL],
    next: [EVIL],
  },
  findings: [
    sampleFinding({
      title: EVIL.repeat(7),
      evidence: [{ ...sampleFinding().evidence[0]!, text: 'x'.repeat(3000) + EVIL }],
      fix: { text: EVIL, code: `f(\n\t${EVIL}${'漢'.repeat(90)})` },
    }),
    ...[2, 3, 4].map(() => sampleFinding({ title: EVIL.repeat(9) })),
  ],
  silent: [{ rule: 'T5', reason: EVIL }],
  ranks: [0, 1].map((r) => sampleRank(r, { host: EVIL.repeat(3) })),
  stragglers: [
    {
      ranks: [1],
      pattern: 'spike',
      cause: 'gpu',
      cost_ms: 1,
      cost_high_ms: null,
      confidence: 1,
      sentence: `rank 1: ${EVIL}`,
    },
  ],
  ignored: [EVIL],
  health: {
    grade: 'poor',
    problems: [
      { severity: 'severe', code: EVIL, count: 1, message: EVIL, consequence: EVIL, first: null, ranks: [0] },
    ],
  },
});

describe('renderDiagnose', () => {
  it('shows the verdict first, then the fixes, then what they are based on', () => {
    expect(plain(sampleReport())).toMatchInlineSnapshot(`
      "Data-bound: the GPU spends 92% of every step waiting for input   confidence high
        of 60.0 s: 75% training steps · 25% start-up
        step 161 ms = input wait 149 · compute 8 · host 3 · copy 1
        163 ms under the profiler, 161 ms without it (estimated) · 3 steps, 3–5

        1  num_workers=0 loads every batch on the main thread (T4)
           knob  161 → 15–20 ms  ×8.1–11
           evidence: _SingleProcessDataLoaderIter: 149 ms/step exposed, 3 of 3 steps
           DataLoader(..., num_workers=8, persistent_workers=True)
           Start at one worker a core, less one, and watch the memory each takes.
           uses more memory

        1 file read, health good

        knob: an argument · \`whyslow rules T4\` explains T4
      "
    `);
  });

  it.each([
    ['typical', sampleReport()],
    ['unknown', UNKNOWN],
    ['many ranks', MANY_RANKS],
    ['hostile', HOSTILE],
  ])('fits the page: %s', (_, report) => {
    for (const all of [false, true]) {
      expect(tooWide(plain(report, { all }))).toEqual([]);
      expect(tooWide(plain(report, { all, columns: 50 }), 50)).toEqual([]);
      expect(tooWide(plain(report, { all, columns: 300 }), 100)).toEqual([]);
    }
  });

  it('prints names from a trace without letting them act on the terminal', () => {
    const text = plain(HOSTILE, { all: true });
    expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
    expect(text).toContain('\\x1b[2J');
  });

  it('uses colors only when asked', () => {
    expect(plain(MANY_RANKS)).not.toContain('\x1b');
    expect(renderDiagnose(MANY_RANKS, { color: true })).toContain('\x1b[1mData-bound');
  });

  it('says why there is no verdict and what to capture', () => {
    expect(plain(UNKNOWN)).toMatchInlineSnapshot(`
      "Unknown: the trace has no step marks and its GPU work is one long kernel
        confidence low
        of 60.0 s: 75% training steps · 25% start-up
        no complete step was recorded

      To get an answer:
        - a trace with profiler.step() called once an iteration, three iterations
          long, after a warm-up
        - event logs of all ranks

        1 file read, health good
      "
    `);
  });

  it('names the late rank among many and sums up the rest', () => {
    expect(plain(MANY_RANKS)).toMatchInlineSnapshot(`
      "Data-bound: rank 35 loads its batches late, and the others wait for it in every
      all_reduce
        confidence medium
        close second: host
        of 60.0 s: 75% training steps · 25% start-up
        step 161 ms = input wait 149 · compute 8 · host 3 · copy 1
        163 ms under the profiler, 161 ms without it (estimated) · 3 steps, 3–5

        1  num_workers=0 loads every batch on the main thread (T4) on rank 35
           knob  161 → 15–20 ms  ×8.1–11
           evidence: _SingleProcessDataLoaderIter: 149 ms/step exposed, 3 of 3 steps
           DataLoader(..., num_workers=8, persistent_workers=True)
           Start at one worker a core, less one, and watch the memory each takes.
           uses more memory

        2  fp32 GEMMs (T9)                               free  161 → 15–20 ms  ×8.1–11
           evidence: _SingleProcessDataLoaderIter: 149 ms/step exposed, 3 of 3 steps
           DataLoader(..., num_workers=8, persistent_workers=True)
           Start at one worker a core, less one, and watch the memory each takes.
           changes numerics: check that results are still right

        3  a straggler (W1)                                         knob  gain unknown
           evidence: _SingleProcessDataLoaderIter: 149 ms/step exposed, 3 of 3 steps
           DataLoader(..., num_workers=8, persistent_workers=True)
           Start at one worker a core, less one, and watch the memory each takes.
           uses more memory

        4  prefetch_factor of the loader of the loader of the loader of the loader of
           the loader of the loader of the loader of the loader (T7)
           knob  161 → 15–20 ms  ×8.1–11
        5  slow link (W5)                                                     hardware
           (--all shows these in full)

        Rank 35 is last in 3 of 3 steps: it waits 31.2 ms longer for its input than
        the median rank
        rank  host    step    mostly
        0     node-0  161 ms  waiting for ranks 75%
        1     node-0  161 ms  waiting for ranks 75%
        2     node-0  161 ms  waiting for ranks 75%
        3     node-0  161 ms  waiting for ranks 75%
        4     node-0  161 ms  waiting for ranks 75%
        5     node-0  161 ms  waiting for ranks 75%
        6     node-0  161 ms  waiting for ranks 75%
        7     node-0  161 ms  waiting for ranks 75%
        8     node-1  161 ms  waiting for ranks 75%
        9     node-1  161 ms  waiting for ranks 75%
        10    node-1  161 ms  waiting for ranks 75%
        11    node-1  161 ms  waiting for ranks 75%
        12    node-1  161 ms  waiting for ranks 75%
        13    node-1  161 ms  waiting for ranks 75%
        14    node-1  161 ms  waiting for ranks 75%
        35    node-4  161 ms  input wait 80%         late: persistent, data
        … and 24 more (--all lists them)

        1 file read, health usable
        ! truncated-json: the file ends in the middle of an event (2 ×) on ranks 0–1
          [byte 12345] → the last step is left out
          and 1 more (--all lists them)
        4 other files ignored: notes.txt, run.py, a, …

        free: a flag at start-up · knob: an argument · hardware: other hardware ·
        \`whyslow rules T4\` explains T4 · health: how well the recording shows the job
      "
    `);
  });

  it('shows which ranks set the pace, and what the step would save without something', () => {
    const path = (by_rank: Plain<ReportPath>['by_rank']) => ({
      by_class: shares({ compute: 1 }),
      by_rank,
      hops: 1.5,
    });
    const shown = (more: Partial<Plain<Report>>) => plain({ ...MANY_RANKS, ...more } as Report);
    const what_if = {
      actual_s: 0.161,
      ideal_s: 0.13,
      slowdown: 1.24,
      m_w: 1,
      m_s: null,
      cases: [
        { text: 'without the delay of rank 35', ranks: [35], saving_ms: 31.2 },
        { text: 'with all transfers hidden behind computing', ranks: [], saving_ms: 12 },
      ],
    };
    const by_rank = [
      { rank: 35, share: 0.71, mostly: 'idle_data' as const, mostly_ms: 31.4 },
      { rank: 3, share: 0.25, mostly: 'compute' as const, mostly_ms: 9 },
      { rank: 4, share: 0.04, mostly: 'compute' as const, mostly_ms: 1 },
    ];
    const text = shown({ critical_path: path(by_rank), what_if });
    expect(text).toContain('critical path: 71% on rank 35 (input wait 31.4 ms), 25% on rank 3');
    expect(text.replace(/\s+/g, ' ')).toContain(
      'Without the delay of rank 35: −31.2 ms; with all transfers hidden behind computing: −12.0 ms',
    );
    expect(tooWide(text)).toEqual([]);
    const even = by_rank.map((r) => ({ ...r, share: 0.03 }));
    expect(shown({ critical_path: path(even) })).toContain('spread over all ranks');
  });

  it('keeps what a rank mostly does readable on a narrow page', () => {
    const late = {
      pattern: 'persistent',
      cause: 'host',
      cost_ms: 9,
      cost_high_ms: null,
      confidence: 1,
    } as const;
    const straggler = { ...late, ranks: [1], sentence: 'Rank 1 is late' };
    const ranks = [sampleRank(0), sampleRank(1, { time: shares({ idle_host: 0.65, compute: 0.35 }) })];
    const text = plain(sampleReport({ ranks, stragglers: [straggler] }), { columns: 60 });
    expect(text).toMatch(/^ {2}1 .* {2}host 65% {2}late: persistent, host$/m);
    expect(tooWide(text, 60)).toEqual([]);
  });

  it('shows everything when asked', () => {
    const text = plain(MANY_RANKS, { all: true });
    expect(text).toContain('  39    node-4');
    expect(text).toContain('no-shapes');
    expect(text).toContain('T5  no epoch ended inside the trace');
    expect(text).not.toContain('--all');
  });

  it('says so when there is no fix', () => {
    expect(plain(sampleReport({ findings: [] }))).toContain('The evidence supports no particular fix.');
    const verdict = { ...sampleReport().verdict, next: ['look at that worker'] };
    const text = plain(sampleReport({ findings: [], verdict }));
    expect(text).toContain('Do next:\n  - look at that worker');
    expect(text).not.toContain('no particular fix');
  });

  it('names the ranks of a finding once, and the rank of its figures where it has several', () => {
    const findings = [
      sampleFinding({ title: 'rank 2 is late every step', ranks: [2] }),
      sampleFinding({ title: 'input is slow', ranks: [2] }),
      sampleFinding({ title: 'launches are slow', ranks: [0, 2] }),
    ];
    const text = plain(sampleReport({ findings, ranks: [0, 1, 2].map((rank) => sampleRank(rank)) }));
    expect(text).toContain('rank 2 is late every step (T4)  ');
    expect(text).toContain('input is slow (T4) on rank 2');
    expect(text).toContain('launches are slow (T4) on ranks 0, 2');
    expect(text.match(/evidence: rank 0: _SingleProcess/g)).toHaveLength(1);
  });

  it('diagnose says that the parts of the step are along the critical path, and keeps a number and its unit together', () => {
    const text = shownAlong(sampleReport());
    expect(text.replace(/\s+/g, ' ')).toContain('along the critical path of 2 ranks');
    const headline = `${'x '.repeat(33)}95% of it`;
    const verdict = { ...sampleReport().verdict, headline };
    expect(plain(sampleReport({ verdict }))).toContain('x\n95% of it');
  });
});

function shownAlong(report: Report): string {
  const by_rank = [{ rank: 0, share: 1, mostly: 'compute' as const, mostly_ms: 9 }];
  const critical_path = { by_class: report.time, by_rank, hops: 0 };
  return plain({ ...report, critical_path, ranks: [sampleRank(0), sampleRank(1)] } as unknown as Report);
}
