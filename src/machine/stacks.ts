import { existsSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { MachineFiles, RunCommand } from './files.js';
import { zeroSeparated } from './proc-text.js';

/** Python stacks of one process at one moment. */
export interface StackSample {
  readonly pid: number;
  /** The main thread first, if it is known. */
  readonly threads: readonly ThreadStack[];
}

export interface ThreadStack {
  readonly id: number | null;
  readonly name: string;
  /** The innermost first. */
  readonly frames: readonly StackFrame[];
}

export interface StackFrame {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  /** The rank that a send or receive waits for. Missing: unknown, or another function. */
  readonly peer?: number;
}

/** Takes the stacks of processes. Samples of one process are in order of time. */
export class StackSampler {
  readonly samples: StackSample[] = [];
  /** The first reason why a process could not be read, in words. */
  problem: string | null = null;
  readonly #program: string;
  readonly #run: RunCommand;

  constructor(program: string, run: RunCommand) {
    this.#program = program;
    this.#run = run;
  }

  /** One sample of each process. */
  async take(pids: readonly number[]): Promise<void> {
    for (let i = 0; i < pids.length; i += AT_ONCE)
      await Promise.all(pids.slice(i, i + AT_ONCE).map((pid) => this.#dump(pid)));
  }

  async #dump(pid: number): Promise<void> {
    // Arguments of a send or receive show for whom it waits. Those of other functions are not looked at.
    const last = this.samples.findLast((sample) => sample.pid === pid);
    const locals = last?.threads[0]?.frames.some(isMessage) ? ['--locals'] : [];
    const dump = (options: readonly string[]) =>
      this.#run(this.#program, ['dump', '--json', ...locals, ...options, '--pid', `${pid}`], DUMP_SECONDS);
    // Without a pause first. A running process may change meanwhile: then with one of a few milliseconds.
    const gentle = await dump(['--nonblocking']);
    const said = gentle?.code === 0 ? gentle : await dump([]);
    const threads = said?.code === 0 ? parseDump(said.stdout, pid) : null;
    if (threads !== null) this.samples.push({ pid, threads });
    else this.problem ??= problemOf(said?.stderr ?? '', pid);
  }
}

const AT_ONCE = 4;
const DUMP_SECONDS = 20;

/** py-spy on PATH, or next to the Python of a process. Null: there is none. */
export function findPySpy(
  files: MachineFiles,
  pids: readonly number[],
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  const beside = pids.flatMap((pid) => {
    const python = zeroSeparated(files.read(`/proc/${pid}/cmdline`))[0] ?? '';
    const cwd = files.link(`/proc/${pid}/cwd`);
    if (!python.includes('/')) return [];
    return isAbsolute(python) ? [dirname(python)] : cwd === null ? [] : [join(cwd, dirname(python))];
  });
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...beside];
  return folders.map((folder) => join(folder, 'py-spy')).find((path) => existsSync(path)) ?? null;
}

export const NO_PY_SPY = 'there is no py-spy: pip install py-spy';

function problemOf(complaint: string, pid: number): string {
  if (/permission|operation not permitted/i.test(complaint))
    return (
      `py-spy may not look into process ${pid}. Run with sudo; in a container add --cap-add SYS_PTRACE; ` +
      'or as root: sysctl kernel.yama.ptrace_scope=0'
    );
  const line = complaint.split('\n').find((text) => text.trim() !== '') ?? 'it printed nothing';
  return `py-spy could not read process ${pid}: ${line.slice(0, 200)}`;
}

/** What `py-spy dump --json` prints. Null: not that. */
export function parseDump(text: string, pid: number): readonly ThreadStack[] | null {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(raw)) return null;
  const threads = raw.flatMap((thread: unknown) => threadOf(thread) ?? []);
  const isMain = (t: ThreadStack) => t.id === pid || t.name === 'MainThread';
  return [...threads.filter(isMain), ...threads.filter((t) => !isMain(t))];
}

type Raw = Readonly<Record<string, unknown>>;

function threadOf(raw: unknown): ThreadStack | null {
  if (typeof raw !== 'object' || raw === null || !Array.isArray((raw as Raw).frames)) return null;
  const { os_thread_id: id, thread_name: name, frames } = raw as Raw;
  return {
    id: typeof id === 'number' ? id : null,
    name: typeof name === 'string' ? name : '',
    frames: (frames as unknown[]).flatMap((frame) => {
      const { name: of, filename, short_filename: short, line, locals } = (frame ?? {}) as Raw;
      const file = typeof filename === 'string' ? filename : short;
      if (typeof of !== 'string' || typeof file !== 'string') return [];
      const seen = { name: of, file, line: typeof line === 'number' ? line : 0 };
      const peer = isMessage(seen) ? peerIn(locals) : null;
      return [peer === null ? seen : { ...seen, peer }];
    }),
  };
}

const isMessage = ({ name, file }: StackFrame) =>
  /^(?:send|recv)$/.test(name) && /torch[\\/]distributed[\\/]distributed_c10d\.py$/.test(file);

/** The other rank of the job. A position in a group is none. */
function peerIn(locals: unknown): number | null {
  if (!Array.isArray(locals)) return null;
  const text = (name: string) => {
    const found = locals.find((one: unknown) => (one as Raw | null)?.name === name) as Raw | undefined;
    return typeof found?.repr === 'string' ? found.repr : '';
  };
  const isGlobal = text('group') === 'None';
  const given = text('src') || text('dst');
  const peer = /^\d{1,7}$/.test(given) ? given : isGlobal ? text('group_src') || text('group_dst') : '';
  return /^\d{1,7}$/.test(peer) ? Number(peer) : null;
}
