import type { PageData } from '../../src/page/page-data.js';
import { CodeLines } from './code-lines.js';
import { DataQuality } from './data-quality.js';
import { Findings } from './findings.js';
import { Gpus } from './gpus.js';
import type { Navigator } from './navigator.js';
import { Ranks } from './ranks.js';
import { isFile, type PageSource } from './source.js';
import { Tables } from './tables.js';
import { TimelineSection } from './timeline-section.js';
import { Verdict } from './verdict.js';
import { WhatIf } from './what-if.js';
import { WholeJob } from './whole-job.js';

export interface AppProps {
  readonly page: PageData;
  readonly source: PageSource;
  readonly navigator: Navigator;
}

/** The answer first, then what to do, then the evidence. */
export function App({ page, source, navigator }: AppProps) {
  // A late rank is seen faster than it is read about.
  const late = page.report.stragglers.length > 0;
  return (
    <>
      <main>
        <Verdict page={page} />
        {late && <Ranks page={page} navigator={navigator} />}
        <Findings page={page} navigator={navigator} />
        {!late && <Ranks page={page} navigator={navigator} />}
        <TimelineSection page={page} source={source} navigator={navigator} />
        <WhatIf page={page} />
        <WholeJob page={page} />
        <CodeLines page={page} />
        <Tables page={page} navigator={navigator} />
        <Gpus page={page} />
        <DataQuality page={page} />
      </main>
      <footer>
        <p>
          Made by whyslow {page.report.tool.version}.{' '}
          {isFile()
            ? 'Everything on this page is inside it: nothing is loaded or sent.'
            : 'It is served by whyslow open on this machine: nothing leaves it.'}
        </p>
      </footer>
    </>
  );
}
