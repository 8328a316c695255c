import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reportSchema } from '../../../schemas/report-schema.js';
import { compare, compareHistory } from '../../../src/library/compare.js';
import { diagnose } from '../../../src/library/diagnose.js';
import { exportTables } from '../../../src/library/export.js';
import { facts } from '../../../src/library/facts.js';
import { inspect } from '../../../src/library/inspect.js';
import { openRun } from '../../../src/library/open-run.js';
import { diagnoseForPage } from '../../../src/library/page.js';
import { merge, slim } from '../../../src/library/rewrite.js';
import { briefDiagnose } from '../../../src/render/brief/diagnose.js';
import { briefTriage } from '../../../src/render/brief/triage.js';
import { markdownCompare } from '../../../src/render/markdown/compare.js';
import { renderCompare } from '../../../src/render/terminal/compare.js';
import { renderDiagnose } from '../../../src/render/terminal/diagnose.js';
import { renderInspect } from '../../../src/render/terminal/inspect.js';
import { renderTriage } from '../../../src/render/terminal/triage.js';
import { renderWatch } from '../../../src/render/terminal/watch.js';
import { triage } from '../../../src/report/triage-report.js';
import { readRecording } from '../../../src/triage/replay.js';
import { RunWatcher } from '../../../src/watch/run-watcher.js';

/** A case that was written to a folder. */
export interface Written {
  readonly folder: string;
  readonly files: readonly string[];
  /** A folder for what is made of it. */
  readonly out: string;
}

/** What was made: figures, and text that somebody reads. */
export interface Made {
  readonly data: object;
  readonly text?: string;
}

const ONE = { jobs: 1 };
const WIDE = { color: false, columns: 100 };

/** What users do with files. Each throws InputError if they are of no use. */
export const USES = {
  async diagnose({ folder }) {
    const data = await diagnose(folder, ONE);
    const issues = reportSchema.safeParse(data).error?.issues ?? [];
    if (issues.length > 0) throw new Error(`not a report: ${JSON.stringify(issues).slice(0, 400)}`);
    return { data, text: renderDiagnose(data, { ...WIDE, all: true }) + briefDiagnose(data) };
  },
  async inspect({ folder }) {
    const data = await inspect(folder, ONE);
    return { data, text: renderInspect(data, WIDE) };
  },
  async page({ folder }) {
    return { data: await diagnoseForPage(folder, null, ONE) };
  },
  async timeline({ folder }) {
    const { page, report, timeline } = (await openRun([folder], null, ONE)) as object as Record<
      string,
      unknown
    >;
    return { data: { page, report, hasTimeline: timeline !== null } };
  },
  async facts({ folder, out }) {
    return { data: await facts(folder, { folder: join(out, 'facts'), jobs: 1 }) };
  },
  async merge({ folder, out }) {
    const to = { steps: null, drop: [], out: join(out, 'all.json'), force: true };
    return { data: await merge(folder, { ...to, jobs: 1 }) };
  },
  async slim({ files, out }) {
    return {
      data: await slim(files[0]!, {
        steps: null,
        drop: [],
        max: 90_000,
        out: join(out, 'one.json'),
        force: true,
      }),
    };
  },
  async tables({ folder, out }) {
    return { data: await exportTables(folder, { out: join(out, 'tables'), jobs: 1 }) };
  },
  async compare({ folder, files }) {
    const data = await compare([folder], [files[0]!], ONE);
    return { data, text: renderCompare(data, { ...WIDE, all: true }) + markdownCompare(data) };
  },
  async history({ folder, files, out }) {
    mkdirSync(out, { recursive: true });
    const history = join(out, 'history.jsonl');
    writeFileSync(history, files.map((file) => readFileSync(file, 'latin1')).join('\n'));
    const { report } = await compareHistory([folder], history, { ...ONE, accept: false });
    return { data: report ?? {}, text: report ? renderCompare(report, { ...WIDE, all: true }) : '' };
  },
  async watch({ folder }) {
    const watcher = await RunWatcher.open(folder);
    await watcher.finish();
    const data = watcher.state();
    return { data, text: renderWatch(data, { ...WIDE, rows: 40, now: 1.79e12 }) };
  },
  async triage({ files }) {
    const { recording } = readRecording(readFileSync(files[0]!));
    const data = triage(recording, [], [], false);
    return { data, text: renderTriage(data, WIDE) + briefTriage(data) };
  },
} as const satisfies Readonly<Record<string, (written: Written) => Promise<Made>>>;

export type UseName = keyof typeof USES;
