import { whyslow } from './cli.js';

export interface Cost {
  readonly code: number | null;
  readonly stderr: string;
  /** Of all threads. Unlike time on a clock it does not grow while others have the processor. */
  readonly cpuMs: number;
  readonly peakMb: number;
}

/** At its end. Not `maxRSS`, which starts at the memory of the process that forked, here vitest. */
const REPORT = `data:text/javascript,import{readFileSync}from'node:fs';process.on('exit',()=>{const{user,system}=process.cpuUsage();process.stderr.write('\\ncost='+(user+system)/1000+' '+/VmHWM:[^0-9]*([0-9]+)/.exec(readFileSync('/proc/self/status'))[1])})`;

/** Runs the built program and measures it. */
export async function costOf(args: readonly string[]): Promise<Cost> {
  const { code, stderr } = await whyslow(args, { env: { NODE_OPTIONS: `--import=${encodeURI(REPORT)}` } });
  const [, said = stderr, cpu, peak] = /^([\s\S]*)\ncost=(\S+) (\d+)$/.exec(stderr) ?? [];
  return { code, stderr: said, cpuMs: Number(cpu), peakMb: Number(peak) / 1024 };
}
