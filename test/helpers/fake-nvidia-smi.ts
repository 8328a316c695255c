import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** What dmon printed of loops of the zoo on an H200 (driver 580), the columns that are read. */
export const DMON_ROWS = {
  gpuBound: [
    '688 60 51 97 46 3201 1920 0 0',
    '695 61 52 100 46 3201 1830 100 0',
    '692 61 52 100 47 3201 1815 100 0',
  ],
  starving: ['126 41 41 9 2 3201 1980 0 0', '124 41 41 0 0 3201 1980 0 0', '125 41 41 0 0 3201 1980 0 0'],
} as const;

/** Prints like nvidia-smi of a machine with one H200, on which `pid` computes; dmon's rows come one after the other, fast. */
export async function fakeNvidiaSmi(folder: string, pid: number, rows: readonly string[]): Promise<void> {
  const lines = rows.map((row) => `echo "    0    ${row}"; sleep 0.2`).join('\n');
  await install(
    folder,
    `case "$*" in
*query-compute-apps*) echo "${pid}, GPU-11111111-2222-3333-4444-555555555555" ;;
*query-gpu=index,uuid*) echo "0, GPU-11111111-2222-3333-4444-555555555555" ;;
*query-gpu=index,name,clocks.max.sm,power.limit*)
  echo "index, name, clocks.max.sm [MHz], power.limit [W]"
  echo "0, NVIDIA H200, 1980 MHz, 700.00 W" ;;
*query-gpu=index,name,pci*) echo "0, NVIDIA H200, 00000000:00:06.0, 580.159.04, Disabled, 41, 1980 MHz, 1980 MHz, 0 %, 124.99 W, 700.00 W, 700.00 W, 5, 5, 8, 16, 0x0000000000000001" ;;
dmon*)
  echo "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol"
  echo "# Idx      W      C      C      %      %    MHz    MHz      %   bool"
  while :; do
${lines}
  done ;;
*) echo "| NVIDIA-SMI 580.159.04    Driver Version: 580.159.04     CUDA Version: 13.0     |" ;;
esac`,
  );
}

/** A program of that name with other behavior: `head -c 5000 /dev/urandom`. */
export async function install(folder: string, script: string): Promise<void> {
  const path = join(folder, 'nvidia-smi');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

export const withPath = (folder: string) => ({ PATH: `${folder}${delimiter}${process.env.PATH}` });
