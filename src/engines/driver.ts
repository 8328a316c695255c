import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { describeSystemError, InputError } from '../base/input-error.js';
import { leaveNothing } from '../base/leave-nothing.js';
import { quoted } from '../base/printable.js';
import { formatCount } from '../base/units.js';
import {
  type EngineJob,
  type EngineResult,
  inPackage,
  LEAST_NODE,
  type LostFile,
  PYTHON_ENGINES,
  type PythonEngineId,
  programFiles,
  TASK_PROGRAM,
} from './engine.js';

/** What python/engines/driver.py prints, one a line. */
type Message =
  | { readonly type: 'listed'; readonly files: readonly { readonly size: number }[] }
  | {
      readonly type: 'done';
      readonly size: number;
      readonly written: readonly { readonly path: string; readonly from: string }[];
      readonly ignored: readonly string[];
    }
  | { readonly type: 'failed'; readonly path: string; readonly size: number; readonly why: string }
  | { readonly type: 'note'; readonly text: string }
  | Failure
  | { readonly type: 'end' };

/** Why there is no result at all. */
interface Failure {
  readonly type: 'error';
  readonly code: string;
  /** Where there is no cluster. Null: no address was given. */
  readonly address?: string | null;
  readonly why?: string;
}

export interface PythonOptions {
  readonly engine: PythonEngineId;
  /** As the engine takes it. Null: as it finds it. */
  readonly address: string | null;
  /** The Python that has the engine. */
  readonly python: string;
}

/** Runs `whyslow facts` as tasks of an engine. Throws InputError when no file can be read that way. */
export async function runByPython(job: EngineJob, asked: PythonOptions): Promise<EngineResult> {
  const { paths, out, options, progress } = job;
  const { engine, address, python } = asked;
  // -B: it leaves no compiled files in the package.
  const driver = spawn(python, ['-B', inPackage('python/engines/facts_on_nodes.py'), engine], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    driver.once('error', (error) =>
      reject(new InputError(`cannot start ${python}: ${describeSystemError(error)}`)),
    );
    driver.once('close', resolve);
  });
  ended.catch(() => {}); // it is awaited below
  const program = { program: programFiles(), entry: TASK_PROGRAM, node_version: LEAST_NODE };
  driver.stdin.on('error', () => {}); // it may end before it has read everything
  driver.stdin.end(JSON.stringify({ paths, out, options, address, ...program }));
  let complaint = '';
  driver.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  const stop = () => void driver.kill();
  const finished = leaveNothing(stop);
  const madeOf = new Map<string, string>();
  const lost: LostFile[] = [];
  const ignored: string[] = [];
  let isOver = false;
  let [bytes, files] = [0, 0];
  try {
    for await (const line of createInterface({ input: driver.stdout })) {
      const message = parse(line);
      if (message?.type === 'error') throw new InputError(explain(message, job, asked));
      if (message?.type === 'note') progress.note?.(message.text);
      if (message?.type === 'listed')
        progress.start(
          message.files.length,
          message.files.reduce((sum, f) => sum + f.size, 0),
        );
      if (message?.type === 'failed') lost.push({ path: message.path, why: message.why });
      if (message?.type === 'done') {
        for (const { path, from } of message.written) madeOf.set(path, from);
        for (const path of message.ignored) ignored.push(path);
      }
      if (message?.type === 'done' || message?.type === 'failed') {
        bytes += message.size;
        progress.update(bytes, ++files);
      }
      isOver ||= message?.type === 'end';
    }
    await ended;
  } finally {
    finished();
    stop();
  }
  if (!isOver) {
    const last = complaint.trim().split('\n').at(-1) ?? '';
    throw new InputError(
      `${PYTHON_ENGINES[engine].name}'s driver ended before its tasks were done${last ? `: ${last}` : ''}`,
    );
  }
  if (madeOf.size === 0) throw new InputError(whyNothing(lost, job, asked));
  return { madeOf, lost, ignored };
}

function whyNothing(lost: readonly LostFile[], { paths }: EngineJob, { engine }: PythonOptions): string {
  const { name } = PYTHON_ENGINES[engine];
  const [first, ...others] = lost;
  if (!first)
    return `no node of the ${name} cluster has files that whyslow recognizes in ${paths.join(', ')}`;
  const more = others.length > 0 ? ` (and ${formatCount(others.length, 'other file')})` : '';
  return `nothing could be read on the ${name} cluster: ${first.path}${more}: ${first.why}`;
}

function parse(line: string): Message | null {
  try {
    return JSON.parse(line) as Message;
  } catch {
    return null; // something else printed
  }
}

function explain(
  { code, address, why = '' }: Failure,
  { paths }: EngineJob,
  { engine, python }: PythonOptions,
): string {
  const { name, package: wanted, advice } = PYTHON_ENGINES[engine];
  switch (code) {
    case 'not-installed':
      return `${name} is not installed for ${python}: ${quoted(python)} -m pip install ${wanted}, or activate the environment that has it`;
    case 'no-cluster':
      return address
        ? `there is no ${name} cluster at ${address} (${why}): ${advice}`
        : `no address of a ${name} cluster is known: ${advice}`;
    case 'no-node':
      return `no node of the ${name} cluster can run whyslow: ${why}`;
    case 'no-files':
      return `no node of the ${name} cluster has files in ${paths.join(', ')}`;
    default:
      return why;
  }
}
