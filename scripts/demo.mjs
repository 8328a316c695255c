// `npm run demo`: installs, builds and shows the main job on the traces in test/fixtures.
import { ensureInstalled, run } from './lib.mjs';

ensureInstalled();
run('node', ['scripts/build.mjs']);
const demos = [
  ['A trace of a loop that waits for its data', ['inspect', 'test/fixtures/zoo/data_io_w0/rank0.json.gz']],
  ['Four ranks', ['inspect', 'test/fixtures/zoo-ranks/straggler_host']],
];
for (const [title, args] of demos) {
  console.log(`\n# ${title}\n$ whyslow ${args.join(' ')}\n`);
  run('node', ['bin/whyslow.js', ...args]);
}
