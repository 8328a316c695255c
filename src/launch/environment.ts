import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../base/package-root.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of whyslow_capture by name, with values as in the environment. */
type CaptureSettings = Readonly<Record<string, string>>;

export interface CaptureOptions {
  readonly every?: number;
  readonly startStep?: number;
  readonly endStep?: number;
  readonly maxOverhead?: number;
  readonly ranks?: readonly number[] | 'all';
  /** False: no window. */
  readonly trace?: boolean;
  /** Steps from one window to the next. Without it there is one window. */
  readonly tracePeriod?: number;
  readonly traceWarmup?: number;
  readonly traceActive?: number;
  readonly traceRanks?: readonly number[] | 'all';
  readonly traceTarget?: string;
  readonly shapes?: true;
  /** What `shapes` was called first. */
  readonly traceShapes?: true;
  readonly traceMemory?: true;
  readonly traceFlops?: true;
  readonly traceBudgetMb?: number;
  /** Snapshots of the CUDA allocator. */
  readonly memory?: true;
}

const SETTING_OF: Readonly<Record<keyof CaptureOptions, string>> = {
  every: 'record_every_n_steps',
  startStep: 'start_step',
  endStep: 'end_step',
  maxOverhead: 'max_overhead',
  ranks: 'ranks',
  trace: 'trace.enabled',
  tracePeriod: 'trace.period',
  traceWarmup: 'trace.warmup',
  traceActive: 'trace.active',
  traceRanks: 'trace.ranks',
  traceTarget: 'trace.target',
  shapes: 'trace.record_shapes',
  traceShapes: 'trace.record_shapes',
  traceMemory: 'trace.profile_memory',
  traceFlops: 'trace.with_flops',
  traceBudgetMb: 'trace.budget_mb',
  memory: 'memory',
};

/** Options as settings. Options that were not given set nothing, so those of the environment stay. */
export function settingsOf(options: CaptureOptions): CaptureSettings {
  const settings: Record<string, string> = {};
  for (const [option, setting] of Object.entries(SETTING_OF)) {
    const value = options[option as keyof CaptureOptions];
    if (value === undefined) continue;
    settings[setting] = typeof value === 'boolean' ? String(Number(value)) : String(value);
    // Any option about traces turns them on, except for --no-trace.
    if (setting.startsWith('trace.') && options.trace !== false) settings[SETTING_OF.trace] = '1';
  }
  return settings;
}

/** `trace.period` is WHYSLOW_TRACE_PERIOD. */
const variableOf = (setting: string) => `WHYSLOW_${setting.replaceAll('.', '_').toUpperCase()}`;

/** For advice such as `whyslow run --trace -- COMMAND`. In characters: a longer one is no advice. */
const MAX_COMMAND = 1000;
function commandVariable(command: readonly string[]): string | undefined {
  const words = JSON.stringify(command);
  return words.length > MAX_COMMAND ? undefined : words;
}

/** The environment of the job: ours, with the Python part first in PYTHONPATH and the given settings. */
export function jobEnvironment(
  env: Environment,
  given: {
    readonly out: string;
    readonly run: string;
    /** Which `whyslow run` this is, among those of all nodes: letters and digits. */
    readonly launch?: string;
    readonly command: readonly string[];
    readonly settings: CaptureSettings;
  },
): Record<string, string | undefined> {
  const { source, startUp } = pythonPart();
  const asked = Object.entries(given.settings).map(([name, value]) => [variableOf(name), value]);
  return {
    ...env,
    ...Object.fromEntries(asked),
    WHYSLOW_INJECT: '1',
    WHYSLOW_OUT: given.out,
    WHYSLOW_RUN: given.run,
    WHYSLOW_LAUNCH: given.launch,
    WHYSLOW_COMMAND: commandVariable(given.command),
    WHYSLOW_PYTHON: source,
    // Kineto announces the start and end of every window on standard error. Capture reports windows that fail.
    KINETO_LOG_LEVEL: env.KINETO_LOG_LEVEL ?? '6',
    // An empty entry would mean the current directory.
    PYTHONPATH: [startUp, env.PYTHONPATH].filter(Boolean).join(delimiter),
  };
}

/** Where whyslow_capture is: in this package or, in a wheel, next to the folder `whyslow` that has this package. */
const SOURCES = ['python/src', '../..'];

export function pythonPart() {
  const places = SOURCES.map((path) => fileURLToPath(new URL(path, packageRoot())));
  const source = places.find((path) => existsSync(join(path, 'whyslow_capture'))) ?? places[0]!;
  const startUp = join(source, 'whyslow_capture/inject/site');
  return { source, startUp, isThere: existsSync(join(startUp, 'sitecustomize.py')) };
}
