import { randomBytes } from 'node:crypto';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownModes } from '../base/make-folders.js';

/** What the job passes on to its own run at a tracker. */
export interface AlertForJob {
  readonly to: 'wandb' | 'mlflow';
  readonly incident: string;
  readonly title: string;
  readonly text: string;
  readonly step: number;
}

const LOOK_MS = 500;

/** Leaves it in OUT/control, where rank 0 looks once per second, and takes it back after `waitMs`. False: nobody took it. */
export async function tellJob(out: string, alert: AlertForJob, waitMs: number): Promise<boolean> {
  const folder = join(out, 'control');
  const id = randomBytes(6).toString('hex');
  const [temporary, file] = [join(folder, `.incident-${id}.tmp`), join(folder, `incident-${id}.json`)];
  const modes = ownModes(process.env);
  try {
    await mkdir(folder, { recursive: true, mode: modes.folder });
    await writeFile(temporary, `${JSON.stringify(alert)}\n`, { flag: 'wx', mode: modes.file });
    await rename(temporary, file);
    const end = performance.now() + waitMs;
    while (performance.now() < end) {
      await sleep(LOOK_MS, null, { ref: false });
      if (!(await isThere(file))) return true;
    }
    return false;
  } catch {
    // A full disk, or a folder that is gone.
    return false;
  } finally {
    for (const path of [temporary, file]) await rm(path, { force: true }).catch(() => {});
  }
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
