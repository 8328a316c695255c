// Damaged files of every format through the whole program, in one process:
//   node scripts/tool.mjs test/soak/fuzz.ts [CASES] [SEED] [FIRST] [js|wasm]
// A failure prints its seed and number; with CASES 1 and FIRST the number it can be repeated.
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Library, tryCase } from '../helpers/hostile/fuzz.js';

const [cases = '10000', seed = `${Math.floor(Math.random() * 2 ** 31)}`, first = '0', scanner = 'js'] =
  process.argv.slice(2);
// A new WebAssembly memory for every trace makes V8 collect garbage for longer than the trace takes.
if (scanner === 'js') Reflect.deleteProperty(globalThis, 'WebAssembly');
const library = (await import(new URL('../../dist/index.js', import.meta.url).href)) as Library;
const MOST_FAILURES = 20;
const folder = join(tmpdir(), `whyslow-fuzz-${process.pid}`);
const current = new Int32Array(new SharedArrayBuffer(4));
endWhenStuck();

const [from, to] = [Number(first), Number(first) + Number(cases)];
const started = performance.now();
const failures: string[] = [];
for (let i = from; i < to && failures.length < MOST_FAILURES; i++) {
  Atomics.store(current, 0, i);
  const wrong = await tryCase(library, folder, Number(seed), i);
  if (wrong) {
    failures.push(wrong);
    console.log(`case ${i} of seed ${seed}: ${wrong}\n`);
  }
  if ((i - from + 1) % 20_000 === 0) progress(i - from + 1);
}
rmSync(folder, { recursive: true, force: true });
progress(Atomics.load(current, 0) - from + 1);
const peakMb = Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? 0) / 1024;
console.log(
  `seed ${seed}, ${scanner} scanner: ${failures.length} failures; peak memory ${Math.round(peakMb)} MB`,
);
if (peakMb > 1024) console.log('failed: more than 1 GB');
process.exit(failures.length === 0 && peakMb <= 1024 ? 0 : 1);

function progress(done: number): void {
  const seconds = (performance.now() - started) / 1000;
  console.log(`${done} cases in ${Math.round(seconds)} s, ${Math.round(done / seconds)} a second`);
}

/** A case that does not end would block this thread, so another one watches. */
function endWhenStuck(): void {
  const watch = `
    const { workerData } = require('node:worker_threads');
    let last = -1;
    setInterval(() => {
      const now = Atomics.load(workerData.current, 0);
      if (now === last) { require('node:fs').writeSync(1, 'case ' + now + ' of seed ' + workerData.seed + ' took more than a minute\\n'); process.kill(process.pid, 'SIGKILL'); }
      last = now;
    }, 60_000);`;
  new Worker(watch, { eval: true, workerData: { current, seed } }).unref();
}
