import { type Command, InvalidArgumentError, Option } from 'commander';
import { renderJson } from '../../render/json.js';
import { type CommandContext, EXIT } from '../common/output.js';

interface LintFlags {
  readonly json?: boolean;
  readonly format: 'text' | 'json' | 'sarif';
  readonly failOn?: readonly string[];
}

export function registerLint(program: Command, context: CommandContext): void {
  program
    .command('lint')
    .description('find faults in training scripts without running them')
    .argument('<path...>', 'scripts (.py), notebooks (.ipynb), DeepSpeed configurations (.json), directories')
    .addOption(
      new Option('--format <name>', 'how to print it').choices(['text', 'json', 'sarif']).default('text'),
    )
    .option('--json', 'the same as --format json')
    .option('--fail-on <rules>', 'exit 1 if one of these rules fires: T4,host-sync, or any', ruleList)
    .addHelpText(
      'after',
      '\nA comment turns a rule off for its line: # whyslow: ignore[T4]\n\nExamples:\n  $ whyslow lint train.py\n  $ whyslow lint src --fail-on T4,T23\n  $ whyslow lint src --format sarif > lint.sarif',
    )
    .action(async (paths: string[], options: LintFlags) => {
      // Loaded on demand: the parser is of no use to other commands.
      const { lint, lintRules } = await import('../../library/lint.js');
      const failing = lintRules(options.failOn ?? []);
      const report = await lint(paths);
      const isText = !options.json && (options.format ?? 'text') === 'text';
      const page = await rendered(report, options, context);
      if (isText) context.stdout.write(page);
      else context.stdout.writeJson(page);
      if (report.findings.some((finding) => failing.includes(finding.id))) context.exitWith(EXIT.gateFailed);
    });
}

type Report = Awaited<ReturnType<typeof import('../../library/lint.js').lint>>;

async function rendered(report: Report, options: LintFlags, { stdout }: CommandContext): Promise<string> {
  if (options.json || options.format === 'json') return renderJson(report);
  if (options.format === 'sarif') {
    const [{ sarifOf }, { rules }] = await Promise.all([
      import('../../render/sarif.js'),
      import('../../library/rules.js'),
    ]);
    return renderJson(sarifOf(report, rules));
  }
  const { renderLint } = await import('../../render/terminal/lint.js');
  return renderLint(report, { color: stdout.color, columns: stdout.columns });
}

/** `T4,host-sync`, `any`. */
function ruleList(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes(''))
    throw new InvalidArgumentError('It must be a list of rules such as T4,host-sync, or any.');
  return names;
}
