import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { facts } from '../../../src/library/facts.js';
import { inFolder } from '../folder.js';
import { simulateRun, writeRun } from '../simulate/simulate.js';

/** Facts files of two ranks that train together. */
export const storeFacts = (): Promise<readonly Buffer[]> =>
  inFolder(async (folder) => {
    writeRun(simulateRun({ seed: 3, ranks: 2, steps: 3, eventsPerStep: 60 }), join(folder, 'run'));
    await facts(join(folder, 'run'), { folder: join(folder, 'facts'), jobs: 1 });
    return readdirSync(join(folder, 'facts')).map((name) => readFileSync(join(folder, 'facts', name)));
  });
