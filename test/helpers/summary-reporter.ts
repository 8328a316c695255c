import { appendFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/**
 * Ends the output with one plain line. In CI a skipped test is a failure, because there everything must run; except a
 * comparison with files that are not part of the project (helpers/shared.ts), which gets a line of its own.
 */
export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const notCompared: string[] = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        const { notHere } = test.meta();
        if (notHere !== undefined)
          notCompared.push(
            `${test.parent.type === 'suite' ? test.parent.name : module.moduleId}: ${notHere} is not here`,
          );
        else if (state !== 'pending') counts[state]++;
      }
      if (module.errors().length > 0) counts.failed++;
    }
    if (counts.skipped > 0 && process.env.CI) {
      console.log(`CI: ${counts.skipped} skipped tests count as failed`);
      process.exitCode = 1;
    }
    const { TEST_COUNTS } = process.env;
    if (TEST_COUNTS) appendFileSync(TEST_COUNTS, `${JSON.stringify({ ...counts, notCompared })}\n`);
    process.once('exit', () => {
      for (const what of notCompared) console.log(`not compared: ${what}`);
      console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    });
  }
}
