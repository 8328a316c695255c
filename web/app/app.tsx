import { useRef } from 'preact/hooks';
import type { PageData } from '../../src/page/page-data.js';
import { Changes } from './changes.js';
import { CodeLines } from './code-lines.js';
import { DataQuality } from './data-quality.js';
import { Findings } from './findings.js';
import { Gpus } from './gpus.js';
import { Hardware } from './hardware.js';
import { Memory } from './memory.js';
import type { Navigator } from './navigator.js';
import { Ranks } from './ranks.js';
import type { PageSource } from './source.js';
import { Tables } from './tables.js';
import { TimelineSection } from './timeline-section.js';
import { Verdict } from './verdict.js';
import { Waits } from './waits.js';
import { WhatIf } from './what-if.js';
import { WholeJob } from './whole-job.js';

export interface AppProps {
  readonly page: PageData;
  readonly source: PageSource;
  readonly navigator: Navigator;
  /** A job that runs. */
  readonly isLive?: boolean;
}

const ORIGINS: Readonly<Record<PageSource['origin'], string>> = {
  file: 'Everything on this page is inside it: nothing is loaded or sent.',
  server: 'It is served by whyslow on this machine: nothing leaves it.',
  dropped: 'The trace was read in this browser: nothing was uploaded.',
};

/** The answer first, then what to do, then the evidence. */
export function App({ page, source, navigator, isLive = false }: AppProps) {
  // A late rank is seen faster than it is read about.
  // Decided once: while a job runs, sections must not change places under the reader.
  const late = useRef(page.report.stragglers.length > 0).current;
  return (
    <>
      <main>
        <Verdict page={page} />
        <Changes page={page} isLive={isLive} />
        <Waits page={page} />
        <Memory page={page} />
        {late && <Ranks page={page} navigator={navigator} />}
        <Findings page={page} navigator={navigator} />
        <Hardware page={page} />
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
          Made by whyslow {page.report.tool.version}. {ORIGINS[source.origin]}
        </p>
      </footer>
    </>
  );
}
