import { fileURLToPath } from 'node:url';
import { packageRoot } from '../base/package-root.js';

/** An engine whose API is for Python only. All of them run python/engines/facts_on_nodes.py; this is what we say of each. */
interface PythonEngine {
  /** As its users write it. */
  readonly name: string;
  /** What pip installs. */
  readonly package: string;
  /** What `--address` may be, and where the address comes from otherwise. */
  readonly address: string;
  /** To do where there is no cluster. */
  readonly advice: string;
}

/** By what `--on` takes. */
export const PYTHON_ENGINES = {
  ray: {
    name: 'Ray',
    package: 'ray',
    address: 'as ray.init takes it (default: RAY_ADDRESS, or auto)',
    advice: 'start one with `ray start --head`, or pass --address or RAY_ADDRESS',
  },
  dask: {
    name: 'Dask',
    package: "'dask[distributed]'",
    address: 'of the scheduler, or its scheduler file (default: DASK_SCHEDULER_ADDRESS)',
    advice: 'pass --address tcp://HOST:8786 or the path of its scheduler file, or set DASK_SCHEDULER_ADDRESS',
  },
} as const satisfies Readonly<Record<string, PythonEngine>>;

export type PythonEngineId = keyof typeof PYTHON_ENGINES;

export const isPythonEngine = (on: string | undefined): on is PythonEngineId =>
  on !== undefined && Object.hasOwn(PYTHON_ENGINES, on);

/** What to run on a cluster. */
export interface EngineJob {
  /** As the user wrote them, but absolute: the working directory of a task is another. */
  readonly paths: readonly string[];
  /** Where facts go, on this machine. */
  readonly out: string;
  /** More options of `whyslow facts`. `whyslow diagnose` needs the same. */
  readonly options: readonly string[];
  readonly progress: EngineProgress;
}

export interface EngineProgress {
  start(files: number, bytes: number): void;
  update(readBytes: number, doneFiles: number): void;
  /** A remark for the user, one sentence. */
  note?(text: string): void;
}

/** What came back. The facts are in `out`. */
export interface EngineResult {
  /** By path in `out`: what it was made of. */
  readonly madeOf: ReadonlyMap<string, string>;
  readonly lost: readonly LostFile[];
  /** Files in searched directories that whyslow does not recognize. */
  readonly ignored: readonly string[];
}

/** A file whose task failed. The others still give an answer. */
export interface LostFile {
  readonly path: string;
  readonly why: string;
}

/** whyslow in one file, for machines where it is not installed. It finds the others by their place. */
export const TASK_PROGRAM = 'dist/task.js';
const PROGRAM_FILES = [TASK_PROGRAM, 'wasm/scanner.wasm', 'package.json'];

/** The oldest Node.js that runs it, as in package.json. */
export const LEAST_NODE = [20, 19];

/** Path of a file of this package. */
export const inPackage = (name: string): string => fileURLToPath(new URL(name, packageRoot()));

/** What must travel to a machine that has nothing but Node.js: paths here, by name there. */
export const programFiles = (): Readonly<Record<string, string>> =>
  Object.fromEntries(PROGRAM_FILES.map((name) => [name, inPackage(name)]));
