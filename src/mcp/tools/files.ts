import * as z from 'zod';
import { compare } from '../../library/compare.js';
import { inspect } from '../../library/inspect.js';
import { lint } from '../../library/lint.js';
import { briefCompare } from '../../render/brief/compare.js';
import { renderInspect } from '../../render/terminal/inspect.js';
import { renderLint } from '../../render/terminal/lint.js';
import { allowedPaths, PATHS, tool } from '../kit/tool.js';

/** As the renderers take a page without a terminal. */
const PAGE = { color: false, columns: 120 } as const;

export const compareTool = tool({
  name: 'compare',
  title: 'Did it get faster?',
  description:
    'Compares runs before and after a change: faster, slower, the same, or within noise, with the interval; what changed in the step; whether the predicted gains came true. A run is a trace, an event log, a folder of `whyslow run`, or a report.',
  input: {
    before: PATHS.paths.describe('runs before the change'),
    after: PATHS.paths.describe('runs after it'),
  },
  call: async ({ before, after }, call) => {
    const [left, right] = [await allowedPaths(before, call), await allowedPaths(after, call)];
    const report = await compare(left, right, { progress: call.progress });
    return { text: briefCompare(report), report };
  },
});

export const inspectTool = tool({
  name: 'inspect',
  title: 'What is in the files?',
  description:
    'Lists what the files hold: format, rank, steps, events, what is broken. Ask it when diagnose gives no answer, or for what was recorded.',
  input: PATHS,
  call: async ({ paths }, call) => {
    const report = await inspect(await allowedPaths(paths, call), { progress: call.progress });
    return { text: renderInspect(report, PAGE), report };
  },
});

export const lintTool = tool({
  name: 'lint',
  title: 'Faults in training scripts',
  description:
    'Reads training scripts, notebooks and DeepSpeed configurations without running them, and reports what makes training slow, with the line and the fix. A recording is stronger evidence: use diagnose where there is one.',
  input: { paths: z.array(z.string().min(1).max(4096)).min(1).max(1000).describe('scripts or folders') },
  call: async ({ paths }, call) => {
    const report = await lint(await allowedPaths(paths, call));
    return { text: renderLint(report, PAGE), report };
  },
});
