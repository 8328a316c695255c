import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../base/package-root.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of whyslow_capture by name, with values as in the environment. */
type CaptureSettings = Readonly<Record<string, string>>;

interface TraceOptions {
  /** Steps from one window to the next. Without it there is one window. */
  readonly tracePeriod?: number;
  readonly traceWarmup?: number;
  readonly traceActive?: number;
  readonly traceRanks?: readonly number[] | 'all';
  readonly traceTarget?: string;
  readonly traceShapes?: true;
  readonly traceStack?: true;
  readonly traceMemory?: true;
  readonly traceFlops?: true;
  readonly traceBudgetMb?: number;
}

export interface CaptureOptions extends TraceOptions {
  readonly every?: number;
  readonly startStep?: number;
  readonly endStep?: number;
  readonly maxOverhead?: number;
  readonly ranks?: readonly number[] | 'all';
  readonly trace?: true;
}

/** Options as settings. Options that were not given set nothing, so those of the environment stay. */
export function settingsOf(options: CaptureOptions): CaptureSettings {
  return present({
    record_every_n_steps: options.every,
    start_step: options.startStep,
    end_step: options.endStep,
    max_overhead: options.maxOverhead,
    ranks: options.ranks,
    ...traceSettings(options),
  });
}

const TRACE_NAMES: Readonly<Record<keyof TraceOptions, string>> = {
  tracePeriod: 'trace.period',
  traceWarmup: 'trace.warmup',
  traceActive: 'trace.active',
  traceRanks: 'trace.ranks',
  traceTarget: 'trace.target',
  traceShapes: 'trace.record_shapes',
  traceStack: 'trace.with_stack',
  traceMemory: 'trace.profile_memory',
  traceFlops: 'trace.with_flops',
  traceBudgetMb: 'trace.budget_mb',
};

function traceSettings(options: CaptureOptions): Record<string, unknown> {
  const names = Object.keys(TRACE_NAMES) as (keyof TraceOptions)[];
  if (!options.trace && names.every((name) => options[name] === undefined)) return {};
  const given = names.filter((name) => options[name] !== undefined);
  return {
    'trace.enabled': true,
    ...Object.fromEntries(given.map((name) => [TRACE_NAMES[name], options[name]])),
  };
}

function present(settings: Readonly<Record<string, unknown>>): CaptureSettings {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [
      name,
      value === true ? '1' : Array.isArray(value) ? value.join(',') : `${value}`,
    ]),
  );
}

/** `trace.period` is WHYSLOW_TRACE_PERIOD. */
const variableOf = (setting: string) => `WHYSLOW_${setting.replaceAll('.', '_').toUpperCase()}`;

/** The environment of the job: ours, with the Python part first in PYTHONPATH and the given settings. */
export function jobEnvironment(
  env: Environment,
  given: { readonly out: string; readonly run: string; readonly settings: CaptureSettings },
): Record<string, string | undefined> {
  const { source, startUp } = pythonPart();
  const asked = Object.entries(given.settings).map(([name, value]) => [variableOf(name), value]);
  return {
    ...env,
    ...Object.fromEntries(asked),
    WHYSLOW_INJECT: '1',
    WHYSLOW_OUT: given.out,
    WHYSLOW_RUN: given.run,
    WHYSLOW_PYTHON: source,
    // An empty entry would mean the current directory.
    PYTHONPATH: [startUp, env.PYTHONPATH].filter(Boolean).join(delimiter),
  };
}

export function pythonPart() {
  const source = fileURLToPath(new URL('python/src', packageRoot()));
  const startUp = join(source, 'whyslow_capture/inject/site');
  return { source, startUp, isThere: existsSync(join(startUp, 'sitecustomize.py')) };
}
