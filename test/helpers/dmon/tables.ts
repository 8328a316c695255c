import type { Problem } from '../../../src/base/problem.js';
import { type GpuTelemetry, TELEMETRY_FIELDS } from '../../../src/model/telemetry.js';
import { dmonReader } from '../../../src/readers/dmon/descriptor.js';
import { readCut } from '../readers.js';

/** For the tests of this folder. */
export interface Read {
  readonly telemetry: GpuTelemetry;
  readonly problems: readonly Problem[];
}

/** Reads a text or bytes in chunks, cut at the given positions. */
export function read(input: string | Uint8Array, cuts: readonly number[] = []): Read {
  const result = readCut(dmonReader, input, cuts);
  return result;
}

/** The known values of each row: `#0 utilization 97 power 688`. */
export function draw({ telemetry }: Read): string[] {
  return Array.from({ length: telemetry.rows }, (_, row) => {
    const gpu = telemetry.gpus[telemetry.gpu[row]!]!;
    const time = telemetry.timeNs[row]!;
    const figures = TELEMETRY_FIELDS.filter((f) => !Number.isNaN(telemetry[f][row]!)).map(
      (f) => `${f} ${Math.round(1000 * telemetry[f][row]!) / 1000}`,
    );
    const when = Number.isNaN(time) ? [] : [new Date(time / 1e6).toISOString()];
    return [`#${gpu.index ?? gpu.uuid ?? '?'}`, ...when, ...figures].join(' ');
  });
}

/** `code×count@line`. */
export const faults = ({ problems }: Read) => problems.map((p) => `${p.code}×${p.count}@${p.first?.at}`);

/** As the zoo's nvidia-smi (driver 580) writes it with `-s pucvmet`, some columns left out. */
export const DMON = `# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol     fb  rxpci 
# Idx      W      C      C      %      %    MHz    MHz      %   bool     MB   MB/s 
    0    688     62     53     97     47   3201   1920      0      0   5239     66 
    1    530      -     50      0      0   3201   1980     79      1   5239      0 
`;

export const QUERY = `timestamp, index, name, utilization.gpu [%], utilization.memory [%], clocks.current.sm [MHz], clocks.max.sm [MHz], power.draw [W], power.limit [W], temperature.gpu, clocks_event_reasons.active
2026/11/15 00:55:37.060, 0, NVIDIA H200, 100 %, 40 %, 1050 MHz, 1980 MHz, 324.99 W, 700.00 W, 88, 0x0000000000000068
2026/11/15 00:55:38.060, 0, NVIDIA H200, [N/A], [Not Supported], 1980 MHz, 1980 MHz, [N/A], 700.00 W, 41, 0x0000000000000001
`;
