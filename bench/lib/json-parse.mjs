// What most tools do: gunzip into one string, JSON.parse it. V8 stops at 512 MB.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const started = performance.now();
const text = gunzipSync(readFileSync(process.argv[2])).toString('utf8');
const events = JSON.parse(text).traceEvents.length;
console.log(`seconds=${(performance.now() - started) / 1000}\nbytes=${text.length}\nevents=${events}`);
