import type { Command } from 'commander';
import { renderJson } from '../../render/json.js';
import type { CommandContext } from '../common/output.js';

interface RulesOptions {
  readonly json?: boolean;
}

export function registerRules(program: Command, context: CommandContext): void {
  program
    .command('rules')
    .description('the rules: what each looks for, the fix, its cost and risk')
    .argument('[name]', 'a rule to show in full, by name or number: num-workers-zero, T4')
    .option('--json', 'print the rules as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ whyslow rules\n  $ whyslow rules num-workers-zero\n  $ whyslow rules T4',
    )
    .action(async (name: string | undefined, options: RulesOptions) => {
      // Loaded when asked for: the texts of all rules are most of the program.
      const { chosenRules } = await import('../../library/rules.js');
      const chosen = chosenRules(name);
      if (options.json) {
        context.stdout.writeJson(renderJson({ schema: 'whyslow/rules/1', rules: chosen }));
        return;
      }
      const { renderRule, renderRuleList } = await import('../../render/terminal/rules.js');
      const style = { color: context.stdout.color, columns: context.stdout.columns };
      context.stdout.write(
        name === undefined
          ? renderRuleList(chosen, style)
          : chosen.map((rule) => renderRule(rule, style)).join('\n'),
      );
    });
}
