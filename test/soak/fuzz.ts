// Damaged files of every format through the whole program, in one process:
//   node scripts/tool.mjs test/soak/fuzz.ts [CASES] [SEED] [FIRST] [js|wasm] [FORMAT]
// A failure prints its seed and number; with CASES 1 and FIRST the number it can be repeated.
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FormatName } from '../helpers/hostile/documents.js';

const [
  cases = '10000',
  seed = `${Math.floor(Math.random() * 2 ** 31)}`,
  first = '0',
  scanner = 'js',
  format,
] = process.argv.slice(2);
// A new WebAssembly memory for every trace makes V8 collect garbage for longer than the trace takes.
if (scanner === 'js') Reflect.deleteProperty(globalThis, 'WebAssembly');
const { tryCase } = await import('../helpers/hostile/fuzz.js');
const MOST_FAILURES = 20;
const folder = join(tmpdir(), `whyslow-fuzz-${process.pid}`);
const current = new Int32Array(new SharedArrayBuffer(4));
endWhenStuck();

const from = Number(first);
const queue = Array.from({ length: Number(cases) }, (_, i) => from + i).values();
const started = performance.now();
let done = 0;
let failures = 0;
// One after the other: then time and memory are those of one case.
await drain(folder);
rmSync(folder, { recursive: true, force: true });
progress();
console.log(`seed ${seed}, ${scanner} scanner: ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);

async function drain(lane: string): Promise<void> {
  for (const i of queue) {
    if (failures >= MOST_FAILURES) return;
    Atomics.store(current, 0, i);
    const wrong = await tryCase(lane, Number(seed), i, format as FormatName | undefined);
    if (wrong) {
      failures++;
      console.log(`case ${i} of seed ${seed}: ${wrong}\n`);
    }
    if (++done % 20_000 === 0) progress();
  }
}

function progress(): void {
  const seconds = (performance.now() - started) / 1000;
  console.log(`${done} cases in ${Math.round(seconds)} s, ${Math.round(done / seconds)} per second`);
}

/** A case that does not end would block this thread, so another one watches. */
function endWhenStuck(): void {
  const watch = `
    const { workerData } = require('node:worker_threads');
    let last = -1;
    setInterval(() => {
      const now = Atomics.load(workerData.current, 0);
      if (now === last) { require('node:fs').writeSync(1, 'case ' + now + ' of seed ' + workerData.seed + ' or one shortly before took more than ten minutes\\n'); process.kill(process.pid, 'SIGKILL'); }
      last = now;
    }, 600_000);`;
  new Worker(watch, { eval: true, workerData: { current, seed } }).unref();
}
