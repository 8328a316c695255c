import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { quoted, quotedCommand } from '../../src/base/printable.js';
import { SOAK } from '../helpers/cases.js';
import { inFolder, program, root, start } from '../helpers/cli.js';
import { simulateRun, writeRun } from '../helpers/simulate/simulate.js';

const whyslow = quotedCommand([process.execPath, program()]);
/** Small, because it is read two dozen times. */
const folder = mkdtempSync(join(tmpdir(), 'whyslow-limits-'));
writeRun(simulateRun({ seed: 1, ranks: 4, steps: 3, eventsPerStep: 40 }), folder);
afterAll(() => rmSync(folder, { recursive: true }));
const RANKS = quoted(folder);
const TRACE = quoted(join(root, 'zoo/fixtures/data_io_w0'));

/** In bash: the limits are its own and those of what it starts. */
const shell = (line: string, env: Record<string, string> = {}) =>
  start('bash', ['-c', line], { env, stdin: Buffer.of() }).ended;
const lines = (text: string) => text.trimEnd().split('\n').filter(Boolean);

/** Only in `npm run soak`: they end as others do. */
const LIKE_THEM = [
  [`diagnose ${TRACE}`, 0],
  ['rules T4 --json', 0],
  ['run --help', 0],
] as const;
/** Commands, with what it ends with when nothing is in its way. */
const COMMANDS = [
  [`inspect ${TRACE}`, 0],
  [`diagnose ${RANKS} --jobs 4 --json`, 0],
  [`diagnose ${TRACE} --fail-on data`, 1],
  ['capture /no/such/job', 2],
  ...(SOAK
    ? ([
        ['rules', 0],
        ['--help', 0],
      ] as const)
    : []),
  ...(SOAK ? LIKE_THEM : []),
] as const;
const PRINTING = COMMANDS.filter(([, code]) => code !== 2);

describe('an output that cannot be written', () => {
  it.each(PRINTING)('a full disk: %s', async (command) => {
    const { code, stderr } = await shell(`${whyslow} ${command} > /dev/full`);
    expect(code).toBe(2);
    expect(lines(stderr).at(-1)).toBe(
      'whyslow: cannot write to the standard output: no space left on the disk',
    );
    expect(lines(stderr).filter((line) => !line.startsWith('whyslow: '))).toEqual([]);
  });

  it('a full disk does not change the exit code of a job', () =>
    inFolder(async (cwd) => {
      await mkdir(join(cwd, 'o/cuda_event_profiler'), { recursive: true });
      const record = (step: number) =>
        `{"name":"iteration","step":${step},"rank":0,"duration_ms":5,"start_ms":${step * 5},"clock":"gpu","run":"r"}\n`;
      const log = Array.from({ length: 20 }, (_, step) => record(step)).join('');
      await writeFile(join(cwd, 'o/cuda_event_profiler/cuda_events_rank_0.jsonl'), log);
      const { code, stderr } = await shell(
        `cd ${quoted(cwd)} && ${whyslow} run --stdout --out o --run-id r -- sh -c 'exit 5' > /dev/full`,
      );
      expect(code).toBe(5);
      expect(stderr).toContain('whyslow: cannot write to the standard output: no space left on the disk');
      expect(stderr).toContain('to see the diagnosis again: whyslow diagnose');
      expect(stderr).not.toMatch(/\n\s+at /);
    }));

  it.each(PRINTING)('a reader that has gone: %s', async (command, code) => {
    // Bash holds the reading end until `true` is over, then writing fails.
    const line = `${whyslow} ${command} 2>&3 3>&- | true; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await shell(`{ ${line}; } 3>&2`);
    expect(Number(stdout)).toBe(code);
    expect(lines(stderr)).toEqual(code === 1 ? [expect.stringContaining('--fail-on')] : []);
  });

  it.each(COMMANDS.slice(1, 5))('a standard error that is full: %s', async (command, code) => {
    expect((await shell(`${whyslow} ${command} 2> /dev/full`)).code).toBe(code);
  });
});

const NODE = Number.parseInt(process.versions.node, 10);

describe('few open files', () => {
  // With fewer Node cannot start at all, or load the first file.
  const fewest = NODE < 22 ? 19 : 23;
  it.each(
    (SOAK ? [fewest, 30, 64] : [fewest, 64]).flatMap((n) =>
      COMMANDS.map(([command, code]) => [n, command, code] as const),
    ),
  )('ulimit -n %i: %s', async (limit, command, expected) => {
    const { code, stderr } = await shell(`ulimit -n ${limit}; ${whyslow} ${command}`);
    if (code !== expected) {
      expect(code).toBe(2);
      expect(lines(stderr)).toEqual([expect.stringMatching(/^whyslow: .*too many open files/)]);
    }
    expect(stderr).not.toMatch(/internal error|\n\s+at /);
    // Where Node can load the program at all, it gives the answer.
    if (limit >= 64) expect(code).toBe(expected);
  });
});

/** In kB, with the exit code. Newer versions of V8 reserve more. */
const MORE = NODE < 24 ? 0 : 600_000;
const SPACES: readonly (readonly [number, number])[] = [
  [16_000_000, 0],
  [4_000_000, 0],
  [1_800_000 + MORE, 0],
  [1_000_000 + MORE, 2],
];

describe('little address space', () => {
  it.each(SOAK ? SPACES : SPACES.slice(1))(
    'ulimit -v %i: all ranks, in several threads if they fit',
    async (limit, expected) => {
      const { code, stdout, stderr } = await shell(
        `ulimit -v ${limit}; ${whyslow} diagnose ${RANKS} --jobs 3 --json`,
      );
      expect(stderr).not.toMatch(/internal error|\n\s+at |Fatal/);
      expect(code).toBe(expected);
      if (expected === 0) expect((JSON.parse(stdout) as { ranks: unknown[] }).ranks).toHaveLength(4);
      else expect(lines(stderr)).toEqual([expect.stringMatching(/^whyslow: ulimit -v leaves/)]);
    },
  );
});

describe('more jobs than the machine can run', () => {
  it.each(['diagnose', 'inspect'])('%s --jobs 400 reads fewer files at once and says so', async (command) => {
    const { code, stderr } = await shell(`ulimit -n 64; ${whyslow} ${command} ${RANKS}/*.gz --jobs 400`);
    expect(code).toBe(0);
    expect(lines(stderr)).toEqual([
      expect.stringMatching(/^whyslow: \d files? read at once instead of 400: (?:ulimit -n is 64|.* core)/),
    ]);
  });
});
