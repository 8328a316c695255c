import type { Command } from 'commander';
import { InputError } from '../../base/input-error.js';
import type { RuleInfo } from '../../library/vocabulary.js';
import { renderJson } from '../../render/json.js';
import type { CommandContext } from '../common/context.js';
import { nearRules, rulesNamed } from '../common/near-rules.js';

interface RulesOptions {
  readonly json?: boolean;
}

export function registerRules(program: Command, context: CommandContext): void {
  program
    .command('rules')
    .description('the knowledge base: what is looked for, why it matters, the fix, its cost and risk')
    .argument('[name]', 'a rule to show in full, by name or number: num-workers-zero, T4')
    .option('--json', 'print the rules as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ whyslow rules\n  $ whyslow rules num-workers-zero\n  $ whyslow rules T4',
    )
    .action(async (name: string | undefined, options: RulesOptions) => {
      // Loaded when asked for: the texts of all rules are most of the program.
      const { rules } = await import('../../library/rules.js');
      const chosen = name === undefined ? rules : chooseRules(rules, name);
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

function chooseRules(rules: readonly RuleInfo[], name: string): readonly RuleInfo[] {
  const chosen = rulesNamed(rules, name);
  if (chosen.length > 0) return chosen;
  const near = nearRules(rules, name).map((r) => (r.alias ? `${r.id} (${r.alias})` : r.id));
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : '`whyslow rules` lists all.';
  throw new InputError(`there is no rule ${name}. ${hint}`);
}
