import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';

/** Recordings and results of other tools. They are too large for the repository; only some machines have them, next to it. */
export const SHARED = fileURLToPath(new URL('../../../shared', import.meta.url));

declare module 'vitest' {
  interface TaskMeta {
    /** What this test would have compared with is not on this machine. The summary names it; CI does not fail. */
    notHere?: string;
  }
}

/** A suite that needs a folder of ../shared. Without it, one skipped test says so, and so does the summary. */
export function describeWithShared(folder: string, name: string, body: () => void): void {
  if (existsSync(join(SHARED, folder))) return void describe(name, body);
  describe(name, () => {
    it(`are not compared: ../shared/${folder} is not here`, ({ task, skip }) => {
      task.meta.notHere = `../shared/${folder}`;
      skip(`../shared/${folder} is not here`);
    });
  });
}
