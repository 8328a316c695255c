import type { Signal } from '@preact/signals';
import type { PageData } from '../../src/page/page-data.js';
import { CodeLines } from './code-lines.js';
import { DataQuality } from './data-quality.js';
import { Findings } from './findings.js';
import { Gpus } from './gpus.js';
import { Ranks } from './ranks.js';
import { Tables } from './tables.js';
import { Verdict } from './verdict.js';
import type { ViewState } from './view-state.js';
import { WhatIf } from './what-if.js';
import { WholeJob } from './whole-job.js';

export interface AppProps {
  readonly page: PageData;
  readonly view: Signal<ViewState>;
}

/** The answer first, then what to do, then the evidence. */
export function App({ page, view }: AppProps) {
  // A late rank is seen faster than it is read about.
  const late = page.report.stragglers.length > 0;
  return (
    <>
      <main>
        <Verdict page={page} />
        {late && <Ranks page={page} view={view} />}
        <Findings page={page} view={view} />
        {!late && <Ranks page={page} view={view} />}
        <WhatIf page={page} />
        <WholeJob page={page} />
        <CodeLines page={page} />
        <Tables page={page} view={view} />
        <Gpus page={page} />
        <DataQuality page={page} />
      </main>
      <footer>
        <p>
          Made by whyslow {page.report.tool.version}. Everything on this page is inside it: nothing is loaded
          or sent.
        </p>
      </footer>
    </>
  );
}
