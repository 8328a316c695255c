/** whyslow against HTA from PyPI on the same files, in one run; HTA lives in a throw-away venv. See bench/README.md. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import type { Report } from '../src/report/report.js';
import { largeTrace } from './lib/large-trace.js';
import { argument, type Measured, machineLine, median, ratio, sideBySide } from './lib/side-by-side.js';

const MB = argument('mb', 60);
const ROUNDS = argument('rounds', 3);
const VENV = '.bench/hta-venv';

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

const tracesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => /^rank\d+\.json\.gz$/.test(name))
    .map((name) => `${folder}/${name}`);

/** What the report says, in the words of the questions that HTA answers. */
function answersOf({ verdict, stragglers, findings }: Report): string {
  const fix = findings.find((f) => f.saving_ms !== null) ?? findings[0];
  const late = stragglers.flatMap((s) => s.ranks);
  return [
    verdict.sentence,
    late.length > 0 ? `straggler: rank ${late.join(', ')}` : null,
    fix
      ? `first fix: ${fix.title}${fix.saving_ms === null ? '' : ` (${fix.saving_ms.toFixed(1)} ms per step)`}`
      : null,
  ]
    .filter(Boolean)
    .join('; ');
}

async function compare(python: string, name: string, files: readonly string[]): Promise<void> {
  const [gunzip, ours, hta] = await sideBySide(
    [
      { name: 'gunzip', command: [process.execPath, 'bench/lib/gunzip-only.mjs', files[0]!] },
      {
        name: 'whyslow diagnose',
        command: [process.execPath, 'bin/whyslow.js', 'diagnose', '--json', ...files],
      },
      { name: 'HTA', command: [python, 'bench/lib/run-hta.py', ...files] },
    ],
    ROUNDS,
  );
  const raw = (files.length * Number(/bytes=(\d+)/.exec(gunzip!.output)![1])) / 1e6;
  const field = (key: string) => new RegExp(`^${key}=(\\S+)`, 'm').exec(hta!.output)?.[1];
  console.log(
    `\n## ${name}: ${files.length} × ${(raw / files.length).toFixed(1)} MB of JSON, ${ROUNDS} rounds\n`,
  );
  console.log('| | median s | CPU s | peak RSS MB |\n|---|---|---|---|');
  const row = (m: Measured, peak: number) =>
    console.log(
      `| ${m.name} | ${median(m.seconds).toFixed(2)} | ${median(m.cpuSeconds).toFixed(2)} | ${peak.toFixed(0)} |`,
    );
  row(ours!, ours!.peakMb);
  row(hta!, Number(field('peak_mb')));
  console.log(
    `\nHTA ${field('version')}: ${ratio(hta!, ours!).toFixed(0)} × the time, ${(median(hta!.cpuSeconds) / median(ours!.cpuSeconds)).toFixed(0)} × the CPU time (${field('read')} s to read)`,
  );
  console.log(`whyslow says: ${answersOf(JSON.parse(ours!.output) as Report)}`);
  for (const [, answer] of hta!.output.matchAll(/^answer=(.*)$/gm)) console.log(`HTA: ${answer}`);
}

const python = prepareHta();
if (python === null) {
  console.log('HTA cannot be installed here (no python3 venv or no pip): nothing measured.');
} else {
  console.log(machineLine());
  await compare(python, 'a zoo trace, data_io_w0', ['zoo/fixtures/data_io_w0/rank0.json.gz']);
  const ranks = tracesIn('test/fixtures/zoo-ranks/straggler_host');
  await compare(python, 'four ranks, rank 2 late', ranks);
  const large = await largeTrace(
    'test/fixtures/zoo-ranks/balanced/rank0.json.gz',
    `.bench/peers-${MB}.json.gz`,
    MB,
  );
  await compare(python, 'one long trace', [large]);
}
