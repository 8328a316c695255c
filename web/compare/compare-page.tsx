import type { CompareReport } from '../../src/compare/compare-report.js';
import { Answer } from './answer.js';
import { ComparedFindings } from './compared-findings.js';
import { ComparedRanks } from './compared-ranks.js';
import { DataQuality } from './data-quality.js';
import { HistoryLine } from './history-line.js';
import { StepTimes } from './step-times.js';
import { WhereItChanged } from './where-it-changed.js';
import { ChangedWorks } from './works.js';

/** Two sides: the answer first, then how sure it is, then where the time went. */
export function ComparePage({ report }: { readonly report: CompareReport }) {
  return (
    <>
      <main class="compare">
        <Answer report={report} />
        <StepTimes report={report} />
        <HistoryLine report={report} />
        <WhereItChanged report={report} />
        <ComparedFindings report={report} />
        <ComparedRanks report={report} />
        <ChangedWorks report={report} />
        <DataQuality report={report} />
      </main>
      <footer>
        <p>
          Made by whyslow {report.tool.version}. Everything on this page is inside it: nothing is loaded or
          sent.
        </p>
      </footer>
    </>
  );
}
