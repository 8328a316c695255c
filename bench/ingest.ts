/** Reading speed and memory against gunzip of the same file, in one run. See bench/README.md. */
import { statSync } from 'node:fs';
import { largeTrace } from './lib/large-trace.js';
import { argument, best, type Measured, machineLine, median, ratio, sideBySide } from './lib/side-by-side.js';

const MB = argument('mb', 500);
const ROUNDS = argument('rounds', 5);
const SOURCES = ['data_io_w0', 'adam_forloop'].filter((n) => exists(n));

function path(name: string): string {
  return `zoo/fixtures/${name}/rank0.json.gz`;
}
function exists(name: string): boolean {
  return statSync(path(name), { throwIfNoEntry: false }) !== undefined;
}

console.log(`${machineLine()}\n`);
for (const name of SOURCES) {
  const file = await largeTrace(path(name), `.bench/${name}-${MB}.json.gz`, MB);
  const node = process.execPath;
  const sides = [
    { name: 'gunzip alone', command: [node, 'bench/lib/gunzip-only.mjs', file] as const },
    { name: 'gz → model', command: [node, 'bench/lib/to-model.mjs', file] as const },
    {
      name: 'whyslow inspect (process)',
      command: [node, 'bin/whyslow.js', 'inspect', '--json', file] as const,
    },
    {
      name: 'whyslow diagnose (process)',
      command: [node, 'bin/whyslow.js', 'diagnose', '--json', file] as const,
    },
    ...(MB <= 500
      ? [
          {
            name: 'gunzip + JSON.parse',
            command: [node, '--max-old-space-size=12000', 'bench/lib/json-parse.mjs', file] as const,
          },
        ]
      : []),
  ];
  print(
    name,
    file,
    await sideBySide(
      sides.map((s) => ({ ...s, command: [...s.command] as [string, ...string[]] })),
      ROUNDS,
    ),
  );
}

function print(name: string, file: string, measured: readonly Measured[]): void {
  const gunzip = measured[0]!;
  const raw = Number(/bytes=(\d+)/.exec(gunzip.output)![1]);
  console.log(
    `${name}: ${(raw / 1e6).toFixed(0)} MB of JSON, ${(statSync(file).size / 1e6).toFixed(1)} MB gzipped, ${ROUNDS} rounds`,
  );
  console.log(
    '| | median s | best s | CPU s | MB/s | × gunzip | peak RSS MB |\n|---|---|---|---|---|---|---|',
  );
  for (const m of measured) {
    const s = median(m.seconds);
    const cells = [
      m.name,
      s.toFixed(3),
      best(m.seconds).toFixed(3),
      median(m.cpuSeconds).toFixed(2),
      (raw / 1e6 / s).toFixed(0),
      ratio(m, gunzip).toFixed(2),
      m.peakMb.toFixed(0),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
  console.log(`peak allowed: ${(0.15 * (raw / 1e6) + 150).toFixed(0)} MB (0.15 × raw + 150)\n`);
}
