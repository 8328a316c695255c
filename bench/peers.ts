/** whyslow against HTA from PyPI on the same file, in one run; HTA lives in a throw-away venv. See bench/README.md. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { largeTrace } from './lib/large-trace.js';
import { argument, machineLine, median, ratio, sideBySide } from './lib/side-by-side.js';

const MB = argument('mb', 100);
const ROUNDS = argument('rounds', 3);
const VENV = '.bench/hta-venv';

/** HTA's own way in: parse all ranks of a folder into data frames, nothing analysed yet. */
const HTA_PROGRAM = `
import importlib.metadata, resource, sys, time
from hta.trace_analysis import TraceAnalysis
started = time.time()
analysis = TraceAnalysis(trace_dir=sys.argv[1])
frame = analysis.t.get_trace(0)
print(f"seconds={time.time() - started}")
print(f"events={len(frame)} version={importlib.metadata.version('HolisticTraceAnalysis')}")
print(f"peak_mb={max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024:.0f}")
`;

function prepareHta(): string | null {
  const python = `${VENV}/bin/python`;
  if (!existsSync(python)) {
    mkdirSync('.bench', { recursive: true });
    if (spawnSync('python3', ['-m', 'venv', VENV], { stdio: 'inherit' }).status !== 0) return null;
    const install = spawnSync(python, ['-m', 'pip', 'install', '--quiet', 'HolisticTraceAnalysis'], {
      stdio: 'inherit',
    });
    if (install.status !== 0) return null;
  }
  return python;
}

const python = prepareHta();
if (python === null) {
  console.log('HTA cannot be installed here (no python3 venv or no pip): nothing measured.');
} else {
  const folder = `.bench/peers-${MB}`;
  mkdirSync(folder, { recursive: true });
  // HTA finds the rank only in distributedInfo: the source must have one.
  const file = await largeTrace(
    'test/fixtures/zoo-ranks/balanced/rank0.json.gz',
    `${folder}/rank-0.json.gz`,
    MB,
  );
  writeFileSync('.bench/run-hta.py', HTA_PROGRAM);
  const [gunzip, ours, hta] = await sideBySide(
    [
      { name: 'gunzip alone', command: [process.execPath, 'bench/lib/gunzip-only.mjs', file] },
      { name: 'gz → model', command: [process.execPath, 'bench/lib/to-model.mjs', file] },
      { name: 'HTA', command: [python, '.bench/run-hta.py', folder] },
    ],
    ROUNDS,
  );
  const raw = Number(/bytes=(\d+)/.exec(gunzip!.output)![1]) / 1e6;
  console.log(`${machineLine()}\n${raw.toFixed(0)} MB of JSON, ${ROUNDS} rounds\n`);
  console.log('| | median s | MB/s | peak RSS MB |\n|---|---|---|---|');
  for (const m of [gunzip!, ours!, hta!]) {
    const peak = Number(/peak_mb=(\d+)/.exec(m.output)?.[1] ?? m.peakMb);
    console.log(
      `| ${m.name} | ${median(m.seconds).toFixed(3)} | ${(raw / median(m.seconds)).toFixed(0)} | ${peak.toFixed(0)} |`,
    );
  }
  console.log(
    `\nHTA ${/version=(\S+)/.exec(hta!.output)?.[1]} takes ${ratio(hta!, ours!).toFixed(0)} × the time of whyslow.`,
  );
}
