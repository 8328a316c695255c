import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answerOf, type Question } from './agents/answers.js';

/**
 * `npm run eval:agents [-- --no-jobs]`: questions with measured answers, asked through the tools of `whyslow mcp`. Those of
 * agents/questions.json are about this repository's own recordings. Where ../shared is there, also recordings of other people, and
 * jobs that are run here. With less than 38 of 40 right it exits with 1.
 */
const root = fileURLToPath(new URL('../', import.meta.url));
const shared = join(root, '../shared');
const LEAST_RIGHT = 0.95;
/** A gain that a comparison should see. */
const CLEAR = 1.3;

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

/** Every tenth of those that an expert judged. */
function ofTheWorld(): Question[] {
  const file = join(shared, 'world/expected.json');
  if (!existsSync(file)) return [];
  const expected: {
    id: string;
    file: string;
    acceptable: string[];
    must_not_say?: string[];
    max_confidence?: number;
  }[] = readJson(file);
  return expected
    .filter((_, i) => i % 10 === 0)
    .map(({ id, file: name, acceptable, must_not_say, max_confidence }) => ({
      id: `world-${id}`,
      kind: 'bottleneck',
      ask: `What limits ${name}?`,
      paths: [join(shared, 'world', name)],
      truth: {
        bottleneck: acceptable,
        ...(must_not_say ? { must_not_say } : {}),
        ...(max_confidence === undefined ? {} : { max_confidence }),
      },
      source: 'world/expected.json',
    }));
}

/** Whole jobs: recorded on an H200, and two pairs on a CPU. */
function ofRecordedJobs(): Question[] {
  if (!existsSync(join(shared, 'live'))) return [];
  const live = (name: string, bottleneck: string): Question => ({
    id: `live-${name}`,
    kind: 'bottleneck',
    ask: `What limits the job in ${name}?`,
    paths: [join(shared, 'live', name, 'trace')],
    truth: { bottleneck: [bottleneck] },
    source: 'live/truth.json',
  });
  const pair = join(shared, 'jobs/compare-x25');
  return [
    live('gcn', 'gpu'),
    live('gpt_tok_w2', 'data'),
    {
      id: 'job-more-workers',
      kind: 'helped',
      ask: 'Did more workers help, and how much?',
      before: [join(pair, 'before')],
      after: [join(pair, 'after')],
      // Timers inside the job: 87 and 21.5 ms per step.
      truth: { verdict: ['faster'], measured: 4.05 },
      source: 'jobs/README.md, 3.',
    },
  ];
}

/** Runs jobs with the `run` tool, and asks about what it measured. */
async function ofRunJobs(client: Client, out: string): Promise<Question[]> {
  const jobs = join(shared, 'jobs');
  const python = join(root, '.venv/bin/python');
  if (process.argv.includes('--no-jobs') || !existsSync(jobs) || !existsSync(python)) return [];
  const folder = (name: string) => join(out, name);
  /** By the job’s own timers, in the same run: a busy machine changes the ratio. */
  const loopSeconds = (name: string): number => readJson(join(out, `${name}.json`)).loop_s;
  for (const [name, ...command] of [
    ['slow', 'env', `TRUTH_OUT=${out}/slow.json`, python, 'p12_slowfs.py'],
    ['fixed', 'env', `TRUTH_OUT=${out}/fixed.json`, 'NW=8', python, 'p12_fixed.py'],
    ['gc', python, 'p36_gc.py'],
  ]) {
    const input = { command, cwd: jobs, out: folder(name!) };
    const { isError, content } = await client.callTool(
      { name: 'run', arguments: input },
      { timeout: 600_000 },
    );
    if (isError) throw new Error(`${name}: ${JSON.stringify(content)}`);
  }
  const gain = loopSeconds('slow') / loopSeconds('fixed');
  return [
    {
      id: 'job-small-files',
      kind: 'bottleneck',
      ask: 'What limits p12_slowfs.py?',
      paths: [folder('slow')],
      truth: { bottleneck: ['data'] },
      source: 'jobs/truth.json',
    },
    {
      id: 'job-small-files-fixed',
      kind: 'helped',
      ask: 'Did eight workers help p12?',
      before: [folder('slow')],
      after: [folder('fixed')],
      truth: { verdict: gain >= CLEAR ? ['faster'] : ['faster', 'cannot-tell', 'same'], measured: gain },
      source: 'the timers of both jobs',
    },
    {
      id: 'job-gc',
      kind: 'gain',
      ask: 'What is the largest gain for p36_gc.py without changing numerics?',
      paths: [folder('gc')],
      truth: { rules: ['gc-time', 'W4'], measured: 154 },
      source: 'jobs/truth.json',
    },
  ];
}

const out = mkdtempSync(join(tmpdir(), 'whyslow-agents-'));
const client = new Client({ name: 'whyslow-questions', version: '1' }, { capabilities: {} });
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [join(root, 'bin/whyslow.js'), 'mcp', '--allow-run'],
    cwd: root,
    env: { ...(process.env as Record<string, string>), PYTHONDONTWRITEBYTECODE: '1' },
  }),
);
try {
  const { questions }: { questions: Question[] } = readJson(join(root, 'bench/agents/questions.json'));
  const all = [...questions, ...ofTheWorld(), ...ofRecordedJobs(), ...(await ofRunJobs(client, out))];
  let [right, bytes] = [0, 0];
  console.log('| question | answer | right | KB of answers |\n| --- | --- | --- | ---: |');
  for (const question of all) {
    const answered = await answerOf(client, question);
    right += Number(answered.right);
    bytes += answered.bytes;
    console.log(
      `| ${question.id} | ${answered.answer} | ${answered.right ? 'yes' : '**no**'} | ${(answered.bytes / 1000).toFixed(1)} |`,
    );
  }
  console.log(
    `\n${right} of ${all.length} right; ${(bytes / all.length / 1000).toFixed(1)} KB of answers for a question`,
  );
  if (right < LEAST_RIGHT * all.length) process.exitCode = 1;
} finally {
  await client.close();
  rmSync(out, { recursive: true, force: true });
}
