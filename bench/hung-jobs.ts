/**
 * Real jobs of 4 to 8 gloo ranks that stop at a planted fault: whether the rank with the fault, and no other, is named by
 * `whyslow triage --stacks` and by `whyslow run` while the job hangs.
 *
 * node --import tsx bench/hung-jobs.ts [--only data-sleep,pipeline-stop]
 */
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const LAYOUTS = ['data', 'tensor', 'pipeline'] as const;
const FAULTS = ['sleep', 'gil', 'stop', 'order', 'die'] as const;
/** Ranks, and the one with the fault: another for each layout. */
const PLACES = { data: [4, 2], tensor: [8, 5], pipeline: [6, 3] } as const;
/** Seconds after which the run takes stacks. */
const STUCK_AFTER = '5';
const WAIT_S = 150;

const only = process.argv.includes('--only')
  ? process.argv[process.argv.indexOf('--only') + 1]!.split(',')
  : null;
const venv = resolve('.venv/bin');

interface Outcome {
  readonly name: string;
  readonly ranks: number;
  readonly culprit: number;
  readonly triage: string;
  readonly run: string;
}

/** The sentence of `triage --stacks`, and what `run` printed about the job that does not go on. */
async function tryCase(layout: (typeof LAYOUTS)[number], fault: (typeof FAULTS)[number]): Promise<Outcome> {
  const [ranks, culprit] = PLACES[layout];
  const folder = mkdtempSync(join(tmpdir(), 'hung-'));
  const marker = join(folder, 'at-fault');
  const job = [
    ...(fault === 'die' ? ['python'] : []),
    'test/e2e/jobs/hung_job.py',
    layout,
    fault,
    `${culprit}`,
    marker,
  ];
  // torchrun ends all ranks once one has died, and names it. Other launchers leave that to the job.
  const launch =
    fault === 'die'
      ? ['bash', 'bench/lib/start-ranks.sh', `${ranks}`]
      : ['torchrun', '--nnodes', '1', '--nproc-per-node', `${ranks}`, '--master-port', '29641'];
  const env = {
    ...process.env,
    PATH: [venv, process.env.PATH].join(delimiter),
    OMP_NUM_THREADS: '1',
    WHYSLOW_STUCK_AFTER: STUCK_AFTER,
  };
  const whyslow = (args: readonly string[], limit: number) =>
    new Promise<{ stdout: string; stderr: string }>((done) => {
      const child = spawn(process.execPath, ['bin/whyslow.js', ...args], { env, detached: true });
      children.add(child.pid!);
      const said = { stdout: '', stderr: '' };
      child.stdout.setEncoding('utf8').on('data', (text) => (said.stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text) => (said.stderr += text));
      live.set(child.pid!, said);
      const late = setTimeout(() => killGroup(child.pid!), limit * 1000);
      child.once('close', () => {
        clearTimeout(late);
        done(said);
      });
    });
  const children = new Set<number>();
  const live = new Map<number, { stdout: string; stderr: string }>();
  try {
    const running = whyslow(
      ['run', '--no-trace', '--out', join(folder, 'out'), '--', ...launch, ...job],
      260,
    );
    const [runPid] = children;
    for (let i = 0; i < 10 * WAIT_S && !existsSync(marker); i++) await sleep(100);
    if (!existsSync(marker))
      return {
        name: `${layout}-${fault}`,
        ranks,
        culprit,
        triage: 'the job did not start',
        run: live.get(runPid!)!.stderr.slice(-500),
      };
    if (fault === 'stop') process.kill(Number(readFileSync(marker, 'utf8')), 'SIGSTOP');
    if (fault === 'die') {
      const { stderr } = await running;
      return { name: `${layout}-${fault}`, ranks, culprit, triage: '', run: stderr };
    }
    await sleep(2000);
    const { stdout } = await whyslow(
      ['triage', '--pid', `${runPid}`, '--stacks', '--seconds', '2', '--json'],
      90,
    );
    const said = live.get(runPid!)!;
    for (let i = 0; i < 40 && !/no step has ended/.test(said.stderr); i++) await sleep(500);
    await sleep(500);
    const report = JSON.parse(stdout || 'null');
    return {
      name: `${layout}-${fault}`,
      ranks,
      culprit,
      triage: report ? `${report.verdict.sentence} [${report.next[0] ?? ''}]` : 'nothing',
      run: said.stderr,
    };
  } finally {
    for (const pid of children) killGroup(pid);
    // torchrun gives every rank a session of its own.
    for (const name of readdirSync('/proc').filter((n) => /^\d+$/.test(n)))
      if (commandOf(name).includes(folder)) process.kill(Number(name), 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** The ranks that an answer accuses. A rank that it only says to wait is none of them. */
function accused(text: string): readonly number[] {
  // `rank 5 calls all_gather, where rank 4 calls all_reduce`: only the first is accused.
  const found = text
    .replace(/, where rank.*? calls /g, '')
    .matchAll(
      /rank (\d+) (?:\(process \d+\) )?(?:is at|is in|in \w|is stopped|calls|called|ended|did not|has )/g,
    );
  return [...new Set([...found].map((m) => Number(m[1])))];
}
const isRight = (text: string, culprit: number) => `${accused(text)}` === `${culprit}`;

const outcomes: Outcome[] = [];
for (const layout of LAYOUTS)
  for (const fault of FAULTS) {
    if (only && !only.includes(`${layout}-${fault}`)) continue;
    const outcome = await tryCase(layout, fault);
    outcomes.push(outcome);
    const ofRun = outcome.run.split('\n').filter((l) => /no step has ended|whyslow: ranks? /.test(l));
    console.log(`${outcome.name} (rank ${outcome.culprit} of ${outcome.ranks})`);
    if (fault !== 'die')
      console.log(`  triage ${isRight(outcome.triage, outcome.culprit)}: ${outcome.triage}`);
    console.log(`  run ${isRight(ofRun.join(), outcome.culprit)}: ${ofRun.join(' ')}`);
  }
mkdirSync('.bench', { recursive: true });
writeFileSync('.bench/hung-jobs.json', JSON.stringify(outcomes, null, 1));
const right = outcomes.filter((o) => isRight(o.run, o.culprit)).length;
console.log(`run named the culprit and nobody else in ${right} of ${outcomes.length}`);
process.exit(right >= 0.9 * outcomes.length ? 0 : 1);
