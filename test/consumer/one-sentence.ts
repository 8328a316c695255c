// Diagnoses the runs given as arguments. Prints one line of JSON for each.
import { type Bottleneck, diagnose, type Finding, InputError, type Report } from 'whyslow';

interface Line {
  readonly bottleneck: Bottleneck;
  readonly sentence: string;
  readonly stepMs: number | null;
  readonly firstFix: string | null;
}

const title = (finding: Finding | undefined): string | null => finding?.title ?? null;

function lineOf(report: Report): Line {
  const { bottleneck, sentence } = report.verdict;
  return { bottleneck, sentence, stepMs: report.step.ms, firstFix: title(report.findings[0]) };
}

for (const path of process.argv.slice(2)) {
  try {
    console.log(JSON.stringify(lineOf(await diagnose(path, { jobs: 1 }))));
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    console.log(JSON.stringify({ error: error.message }));
  }
}
