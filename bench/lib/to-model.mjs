// gz → model, in this process, nothing else. Prints its own time, without Node's start.
import { readRun } from '../../dist/index.js';

const started = performance.now();
const { traces } = await readRun(process.argv[2]);
const seconds = (performance.now() - started) / 1000;
console.log(`seconds=${seconds}\nbytes=${traces[0].decodedBytes}\nrows=${traces[0].trace.data.rows}`);
