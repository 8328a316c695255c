import type { Command } from 'commander';
import { InputError } from '../../base/input-error.js';
import type { RuleInfo } from '../../library/vocabulary.js';
import { renderJson } from '../../render/json.js';
import type { CommandContext } from '../common/context.js';
import { nearRules, ruleById } from '../common/near-rules.js';

interface RulesOptions {
  readonly json?: boolean;
}

export function registerRules(program: Command, context: CommandContext): void {
  program
    .command('rules')
    .description('the knowledge base: what is looked for, why it matters, the fix, its cost and risk')
    .argument('[id]', 'a rule to show in full, e.g. T4')
    .option('--json', 'print the rules as JSON')
    .addHelpText('after', '\nExamples:\n  $ whyslow rules\n  $ whyslow rules T4')
    .action(async (id: string | undefined, options: RulesOptions) => {
      // Loaded when asked for: the texts of all rules are most of the program.
      const { rules } = await import('../../library/rules.js');
      const chosen = id === undefined ? rules : [oneRule(rules, id)];
      if (options.json) {
        context.stdout.write(renderJson({ schema: 'whyslow/rules/1', rules: chosen }));
        return;
      }
      const { renderRule, renderRuleList } = await import('../../render/terminal/rules.js');
      const style = { color: context.color, columns: context.stdout.columns };
      context.stdout.write(id === undefined ? renderRuleList(chosen, style) : renderRule(chosen[0]!, style));
    });
}

function oneRule(rules: readonly RuleInfo[], id: string): RuleInfo {
  const rule = ruleById(rules, id);
  if (rule) return rule;
  const near = nearRules(rules, id).map((r) => `${r.id} (${r.title})`);
  const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : '`whyslow rules` lists all.';
  throw new InputError(`there is no rule ${id}. ${hint}`);
}
