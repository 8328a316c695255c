import { appendFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** Ends the output with one plain line, and makes a skipped test fail CI: there, everything must have run. */
export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state !== 'pending') counts[state]++;
      }
      if (module.errors().length > 0) counts.failed++;
    }
    if (counts.skipped > 0 && process.env.CI) {
      console.log(`CI: ${counts.skipped} skipped tests count as failed`);
      process.exitCode = 1;
    }
    const { TEST_COUNTS } = process.env;
    if (TEST_COUNTS) appendFileSync(TEST_COUNTS, `${JSON.stringify(counts)}\n`);
    process.once('exit', () =>
      console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`),
    );
  }
}
