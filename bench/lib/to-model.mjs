// gz → model in this process, nothing else. Prints its own time, without Node's start.
import { readFile } from '../../dist/ingest/read-file.js';

const started = performance.now();
const { members } = await readFile(process.argv[2]);
const seconds = (performance.now() - started) / 1000;
console.log(`seconds=${seconds}\nbytes=${members[0].decodedBytes}\nrows=${members[0].content.trace.rows}`);
