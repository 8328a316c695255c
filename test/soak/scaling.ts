// What a doubled input costs: node scripts/tool.mjs test/soak/scaling.ts [DIVISOR] [NAME…]. Prints a table for docs/robustness.md.
import { availableParallelism, cpus } from 'node:os';
import { type Cost, costOf } from '../helpers/cost.js';
import { inFolder } from '../helpers/folder.js';
import { tooMuch } from '../helpers/hostile/scaling.js';
import type { Shape } from '../helpers/hostile/shape.js';
import { SHAPES } from '../helpers/hostile/shapes.js';

const FLOOR = { cpuMs: 1000, peakMb: 100 };
const [divisor = '1', ...names] = process.argv.slice(2);
const failed: string[] = [];
const idle = await costOf(['rules', 'T4']);

console.log(
  `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} × ${cpus()[0]?.model}, Node ${process.versions.node}. ` +
    `The program without input: ${inSeconds(idle)} s, ${inMb(idle)} MB.\n`,
);
console.log('| much of | n | CPU s for n · 2n · 4n | MB for n · 2n · 4n |\n| --- | --- | --- | --- |');
for (const shape of SHAPES.filter((s) => names.length === 0 || names.includes(s.name))) {
  const n = Math.ceil(shape.many / Number(divisor));
  const costs: Cost[] = [];
  for (const times of [1, 2, 4]) costs.push(await measure(shape, times * n));
  const reason = whatIsWrong(costs);
  if (reason) failed.push(`${shape.name}: ${reason}`);
  const columns = [inSeconds, inMb].map((of) => costs.map(of).join(' · '));
  const name = reason ? `${shape.name} **too much**` : shape.name;
  console.log(`| ${[name, n.toLocaleString('en-US'), ...columns].join(' | ')} |`);
}
for (const text of failed) console.log(`\nfailed: ${text}`);
process.exit(failed.length === 0 ? 0 : 1);

function measure(shape: Shape, n: number): Promise<Cost> {
  return inFolder(async (folder) => {
    await shape.write(folder, n);
    return costOf(['diagnose', folder, '--json', ...(shape.options ?? [])]);
  });
}

function whatIsWrong(costs: readonly Cost[]): string | null {
  // 3: no verdict, which most of them do not deserve.
  const crash = costs.find(
    ({ code, stderr }) => ![0, 3].includes(code ?? -1) || /internal error|\n\s+at /.test(stderr),
  );
  if (crash) return `exit code ${crash.code}: ${crash.stderr}`;
  const own = costs.map((c) => ({ cpuMs: c.cpuMs - idle.cpuMs, peakMb: c.peakMb - idle.peakMb }));
  return tooMuch(own[0]!, own[1]!, 1, FLOOR) ?? tooMuch(own[1]!, own[2]!, 1, FLOOR);
}

function inSeconds({ cpuMs }: Cost): string {
  return (cpuMs / 1000).toFixed(cpuMs < 10_000 ? 1 : 0);
}

function inMb({ peakMb }: Cost): string {
  return `${Math.round(peakMb)}`;
}
