import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

export interface Side {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Measured {
  readonly name: string;
  /** Seconds of wall clock, one a round; the program's own figure where it prints `seconds=`. */
  readonly seconds: readonly number[];
  /** Largest resident set over the rounds, MB; NaN where unknown. */
  readonly peakMb: number;
  /** Seconds of processor time, one a round, to about 10 ms. Other load hardly changes it. NaN where unknown. */
  readonly cpuSeconds: readonly number[];
  readonly output: string;
}

/** Runs the sides in turns, so that other load on the machine affects all of them alike. */
export async function sideBySide(sides: readonly Side[], rounds: number): Promise<Measured[]> {
  const all = sides.map((s) => ({
    name: s.name,
    seconds: [] as number[],
    cpuSeconds: [] as number[],
    peakMb: Number.NaN,
    output: '',
  }));
  for (let round = 0; round < rounds; round++) {
    for (const [i, side] of sides.entries()) {
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2Kround ${round + 1}/${rounds}: ${side.name}`);
      const one = await runOnce(side);
      const m = all[i]!;
      m.seconds.push(one.seconds);
      m.cpuSeconds.push(one.cpuSeconds);
      m.peakMb = larger(m.peakMb, one.peakMb);
      m.output = one.output;
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[2K');
  return all;
}

interface OneRun {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
  readonly output: string;
}

async function runOnce(side: Side): Promise<OneRun> {
  const started = performance.now();
  const [program, ...args] = side.command;
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...side.env },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  let peakMb = Number.NaN;
  let cpuSeconds = Number.NaN;
  const watch = setInterval(() => {
    peakMb = larger(peakMb, peakOf(child.pid));
    cpuSeconds = larger(cpuSeconds, cpuOf(child.pid));
  }, 5);
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(watch);
  const seconds = (performance.now() - started) / 1000;
  if (code !== 0) throw new Error(`${side.name} ended with ${code}: ${output.slice(-500)}`);
  const own = /^seconds=([\d.]+)/m.exec(output);
  return { seconds: own ? Number(own[1]) : seconds, cpuSeconds, peakMb, output };
}

/** The larger one; NaN stands for unknown. */
function larger(a: number, b: number): number {
  return Number.isNaN(a) || b > a ? b : a;
}

/** The kernel's high-water mark, so only the last reading matters. Linux only. */
function peakOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024;
  } catch {
    return Number.NaN;
  }
}

/** Of all its threads, and of children that it has waited for. Linux only, with its 100 ticks per second. */
function cpuOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return Number.NaN;
  }
}

export const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!;
export const best = (values: readonly number[]) => Math.min(...values);

/** Median of the ratios within each round, so that a slow minute of the machine cancels out. */
export function ratio(a: Measured, b: Measured): number {
  return median(a.seconds.map((s, i) => s / b.seconds[i]!));
}

export function machineLine(): string {
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, ${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`;
}

export function argument(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
}
