// The anchor: Node's gunzip of a file, nothing else. Prints its own time, without Node's start.
import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';

const started = performance.now();
let bytes = 0;
createReadStream(process.argv[2], { highWaterMark: 1 << 20 })
  .pipe(createGunzip({ chunkSize: 1 << 20 }))
  .on('data', (chunk) => {
    bytes += chunk.length;
  })
  .on('end', () => console.log(`seconds=${(performance.now() - started) / 1000}\nbytes=${bytes}`));
