import type { LintFinding, LintReport } from '../lint/kit/finding.js';
import type { RuleInfo } from '../rules/kit/rule.js';

/** The report as SARIF 2.1.0, which tools for code review read. */
export function sarifOf({ findings, files, tool }: LintReport, rules: readonly RuleInfo[]): object {
  const used = rules.filter((rule) => findings.some((finding) => finding.id === rule.id));
  return {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: tool.name, version: tool.version, rules: used.map(descriptorOf) } },
        columnKind: 'utf16CodeUnits',
        invocations: [
          {
            executionSuccessful: true,
            toolExecutionNotifications: files.flatMap(({ path, problems }) =>
              problems.map((problem) => ({ level: 'note', message: { text: `${path}: ${problem}` } })),
            ),
          },
        ],
        results: findings.map((finding) => ({
          ruleId: finding.id,
          ruleIndex: used.findIndex((rule) => rule.id === finding.id),
          level: 'warning',
          message: { text: messageOf(finding) },
          locations: [{ physicalLocation: locationOf(finding) }],
        })),
      },
    ],
  };
}

const descriptorOf = ({ id, alias, title, why, fix }: RuleInfo): object => ({
  id,
  shortDescription: { text: title },
  fullDescription: { text: why },
  help: { text: `${fix.text}\n${fix.code ?? ''}`.trim() },
  properties: { tags: ['performance', alias ?? ''].filter((tag) => tag !== '') },
});

function messageOf({ cell, line, message, fix }: LintFinding): string {
  const where = cell === null ? '' : `Cell ${cell}, line ${line}: `;
  return `${where}${message} Fix: ${fix}`;
}

/** Lines of a notebook count in its cells, which SARIF does not know. */
function locationOf({ file, cell, line, column, end_line, end_column }: LintFinding): object {
  const artifactLocation = { uri: uriOf(file) };
  if (cell !== null) return { artifactLocation };
  return {
    artifactLocation,
    region: { startLine: line, startColumn: column, endLine: end_line, endColumn: end_column },
  };
}

function uriOf(path: string): string {
  const encoded = path.split(/[\\/]/).map(encodeURIComponent).join('/');
  return path.startsWith('/') ? `file://${encoded}` : encoded.replace(/^(?:\.\/)+/, '');
}
