/** An engine whose API is for Python only. All of them run python/engines/facts_on_nodes.py; this is what we say of each. */
export interface PythonEngine {
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
