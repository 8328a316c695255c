// `npm run demo`: installs, builds and shows the main job on traces that come with the repository.
import { ensureInstalled, run } from './lib.mjs';

ensureInstalled();
run('node', ['scripts/build.mjs']);
const demos = [
  ['A loop that waits for its data', ['diagnose', 'zoo/fixtures/data_io_w0/rank0.json.gz']],
  ['A loop whose matrix products do not use the tensor cores', ['diagnose', 'zoo/fixtures/fp32_no_tf32']],
  ['Four ranks: what is in it', ['inspect', 'test/fixtures/zoo-ranks/straggler_host']],
  ['One entry of the knowledge base', ['rules', 'T4']],
];
for (const [title, args] of demos) {
  console.log(`\n# ${title}\n$ whyslow ${args.join(' ')}\n`);
  run('node', ['bin/whyslow.js', ...args]);
}
