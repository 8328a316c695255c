import { describe, expect, it } from 'vitest';
import { lintFile } from '../lint/lint-script.js';
import { RULES } from '../rules/rules.js';
import { sarifOf } from './sarif.js';

const SCRIPT = 'from torch.utils.data import DataLoader\ntrain_loader = DataLoader(data)\nx = )\n';

function sarif(files: Readonly<Record<string, string>>): Sarif {
  const linted = Object.entries(files).map(([path, text]) => lintFile(path, text));
  const report = {
    schema: 'whyslow/lint/1' as const,
    findings: linted.flatMap((l) => l.findings),
    files: linted.map((l) => ({
      path: l.file,
      findings: l.findings.length,
      ignored: l.ignored,
      problems: l.problems,
    })),
    tool: { name: 'whyslow', version: '0.0.0' },
  };
  const rules = RULES.map((rule) => rule.info);
  return JSON.parse(JSON.stringify(sarifOf(report, rules))) as Sarif;
}

interface Sarif {
  readonly version: string;
  readonly $schema: string;
  readonly runs: readonly {
    readonly tool: {
      readonly driver: { readonly name: string; readonly rules: readonly { readonly id: string }[] };
    };
    readonly results: readonly {
      readonly ruleId: string;
      readonly ruleIndex: number;
      readonly locations: readonly {
        readonly physicalLocation: { readonly artifactLocation: { readonly uri: string } };
      }[];
    }[];
  }[];
}

const text = { text: expect.stringMatching(/\S/) };

describe('SARIF', () => {
  it('SARIF has every field that version 2.1.0 requires, and the right kinds of them', () => {
    const log = sarif({ 'src/train.py': SCRIPT });
    expect(log).toEqual({
      $schema: expect.stringMatching(/^https:\/\/.*sarif-schema-2\.1\.0\.json$/),
      version: '2.1.0',
      runs: [
        {
          tool: {
            driver: {
              name: 'whyslow',
              version: '0.0.0',
              rules: [
                {
                  id: 'num-workers-zero',
                  shortDescription: text,
                  fullDescription: text,
                  help: text,
                  properties: { tags: ['performance', 'T4'] },
                },
              ],
            },
          },
          columnKind: 'utf16CodeUnits',
          invocations: [
            {
              executionSuccessful: true,
              toolExecutionNotifications: [{ level: 'note', message: text }],
            },
          ],
          results: [
            {
              ruleId: 'num-workers-zero',
              ruleIndex: 0,
              level: 'warning',
              message: text,
              locations: [
                {
                  physicalLocation: {
                    artifactLocation: { uri: 'src/train.py' },
                    region: { startLine: 2, startColumn: 16, endLine: 2, endColumn: 32 },
                  },
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it('points every result at its rule', () => {
    const { runs } = sarif({ 'a.py': SCRIPT, 'b.py': `${SCRIPT}loss.zero_grad(set_to_none=False)\n` });
    const [{ tool, results }] = runs as [Sarif['runs'][0]];
    expect(results.length).toBe(3);
    for (const { ruleId, ruleIndex } of results) expect(tool.driver.rules[ruleIndex]!.id).toBe(ruleId);
  });

  it.each([
    ['/home/me/my code/train.py', 'file:///home/me/my%20code/train.py'],
    ['./a#b/train.py', 'a%23b/train.py'],
    ['../train.py', '../train.py'],
  ])('writes %s as a URI', (path, uri) => {
    const [result] = sarif({ [path]: SCRIPT }).runs[0]!.results;
    expect(result!.locations[0]!.physicalLocation.artifactLocation.uri).toBe(uri);
  });
});
