import type { Command } from 'commander';
import { InputError } from '../../base/input-error.js';
import { isOneEditAway } from '../../base/one-edit.js';
import type { RuleInfo } from '../../library/vocabulary.js';
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

const MAX_NEAR = 5;
/** Shorter words are in too many names. */
const LEAST_WORD = 4;

type Named = Pick<RuleInfo, 'id' | 'alias' | 'title'>;

/** The rule of this name, or all rules of this alias. In any case of letters. */
export function rulesNamed<R extends Named>(rules: readonly R[], name: string): R[] {
  const wanted = name.toLowerCase();
  return rules.filter((r) => namesOf(r).includes(wanted));
}

/** Rules that a mistyped name may have meant: one letter off, a part of the name, a word in common, words of the title. */
export function nearRules<R extends Named>(rules: readonly R[], name: string): R[] {
  const wanted = name.toLowerCase();
  const words = wanted.split(/[^a-z0-9]+/).filter((w) => w.length >= LEAST_WORD);
  const oneOff = rules.filter((r) => namesOf(r).some((known) => isOneEditAway(known, wanted)));
  const parts = rules.filter((r) => wanted.length > 2 && `${r.id} ${r.title}`.toLowerCase().includes(wanted));
  const common = rules.filter((r) => r.id.split('-').some((w) => words.includes(w)));
  return [...new Set([...oneOff, ...parts, ...common])].slice(0, MAX_NEAR);
}

const namesOf = ({ id, alias }: Named): string[] => [id, ...(alias ? [alias.toLowerCase()] : [])];
