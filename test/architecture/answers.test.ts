import { describe, expect, it } from 'vitest';
import { importsOf, sourceFiles, sourceText } from './import-graph.js';

const files = sourceFiles();
const outside = files.filter((f) => !f.startsWith('answers/'));

/** `Data-bound` or `Probably data-bound` at the start of a text. Ids of causes and adjectives inside a sentence are fine. */
const LABEL = /['"`](?:(?:GPU|Data|Comms|Host|Compute)-bound|(?:Probably|Mostly) \w+-bound)/;
/** Other ways to begin a verdict. */
const OPENING = /['"`](?:Unknown|The job hangs|Hung|Held up by one|Not training|Short of memory): /;

describe('the answers of whyslow', () => {
  it('are put into words in src/answers only', () => {
    const wordy = outside.filter((f) => LABEL.test(sourceText(f)) || OPENING.test(sourceText(f)));
    expect(wordy).toEqual([]);
  });

  it('would be found by this test if another folder had them', () => {
    for (const text of ["'Data-bound'", '`Host-bound: yes`', "'Probably data-bound'"])
      expect(text).toMatch(LABEL);
    for (const text of ["'gpu-bound'", "'a host-bound step'", "'launch-bound'"])
      expect(text).not.toMatch(LABEL);
    expect('`Unknown: why`').toMatch(OPENING);
  });

  it('are not read back from prose: nothing takes a sentence apart', () => {
    const parses =
      /\bsentence\.(?:split|startsWith|endsWith|includes|match|replace|slice|indexOf)\b|\.exec\([^)]*sentence\)/;
    expect(files.filter((f) => parses.test(sourceText(f)))).toEqual([]);
  });
});

describe('the folder report', () => {
  /** They shorten lists that are too long to print: of ranks, of step times, of inputs. */
  const maps = files.filter((f) => f.startsWith('report/'));
  const SUMMARIES = ['report/many-ranks.ts', 'report/inspect-report.ts'];

  it('maps and does not compute: it uses no statistics and prices nothing', () => {
    const computing = maps.filter(
      (f) =>
        !SUMMARIES.includes(f) &&
        importsOf(f).some(({ target }) => /^(?:base\/statistics|replay\/|rules\/kit\/price)/.test(target)),
    );
    expect(computing).toEqual([]);
  });

  it('asks one place for the verdict', () => {
    const deciding = maps.filter((f) =>
      /\b(?:bottleneck|cause|confidence)\s*=(?!=)|\baddresses ===/.test(sourceText(f)),
    );
    expect(deciding).toEqual([]);
  });
});
