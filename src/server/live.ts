import { setPriority } from 'node:os';
import { messageOf } from '../base/input-error.js';
import { openRun } from '../library/open-run.js';
import type { FromLive, ToLive } from './live-page.js';
import { LiveRun } from './live-run.js';
import { serve } from './serve.js';

/**
 * A program of its own, `live.js FOLDER PORT [PRICE]`: serves the page of a job while it runs. A diagnosis takes a core for a moment and
 * must neither slow the job down nor keep `whyslow run` from passing signals on. It ends when `whyslow run` is gone.
 */
const tell = (message: FromLive) => process.send?.(message);
try {
  setPriority(19);
} catch {
  // Some containers do not allow it.
}
process.on('disconnect', () => process.exit(0));
const [folder = '', port = '0', price] = process.argv.slice(2);
const live = new LiveRun(folder, null, openRun, price === undefined ? undefined : Number(price));
process.on('message', async (message: ToLive) => {
  if (message !== 'ended') return;
  await live.end();
  tell({ done: true });
});
try {
  const { url } = await serve(live, Number(port));
  tell({ url });
  live.start();
} catch (error) {
  tell({ error: messageOf(error) });
}
