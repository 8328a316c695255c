import type { Cost, Risk } from '../../rules/kit/finding.js';
import type { RuleInfo } from '../../rules/kit/rule.js';
import type { Threshold } from '../../rules/kit/threshold.js';
import { codeLines } from './code.js';
import { shorten } from './format.js';
import { hanging, oneLine, type Page, pageFor, paragraph } from './page.js';
import { displayWidth, padToWidth } from './width.js';

export interface RulesOptions {
  readonly color: boolean;
  readonly columns?: number | undefined;
}

const MAX_NEEDS_WIDTH = 24;
/** Labels of a rule's page stand in a column of this width. */
const LABEL_WIDTH = 13;

const COSTS: Readonly<Record<Cost, string>> = {
  free: 'free: a flag at start-up',
  knob: 'knob: an argument',
  code: 'code: an edit to the loop or the model',
  hardware: 'hardware: another machine or a repair',
};
const RISKS: Readonly<Record<Risk, string>> = {
  none: 'none: nothing but the speed changes',
  memory: 'memory: it takes more of it',
  numerics: 'numerics: results may differ',
  data: 'data: what is fed to the model may differ',
};

/** All rules, one a line where the title is short. */
export function renderRuleList(rules: readonly RuleInfo[], options: RulesOptions): string {
  const page = pageFor(options.color, options.columns);
  const needs = rules.map((r) => shorten(oneLine(r.needs), MAX_NEEDS_WIDTH));
  const widths = {
    id: widest(['id', ...rules.map((r) => r.id)]),
    cost: widest(['cost', ...rules.map((r) => r.cost ?? '')]),
    needs: widest(['needs', ...needs]),
  };
  // Two spaces before the first and between the columns.
  const title = page.width - widths.id - widths.cost - widths.needs - 8;
  const row = (id: string, text: string, cost: string, need: string): string[] => {
    const [first, ...rest] = paragraph(text, { ...page, width: title }, '');
    const cells = [padToWidth(id, widths.id), padToWidth(first!, title), padToWidth(cost, widths.cost), need];
    const below = ' '.repeat(widths.id + 4);
    return [`  ${cells.join('  ')}`.trimEnd(), ...rest.map((line) => below + line)];
  };
  const lines = [
    ...row('id', 'title', 'cost', 'needs').map(page.c.dim),
    ...rules.flatMap((r, i) => row(r.id, r.title, r.cost ?? '–', needs[i]!)),
  ];
  return `${lines.join('\n')}\n`;
}

/** One rule in full. */
export function renderRule(rule: RuleInfo, options: RulesOptions): string {
  const page = pageFor(options.color, options.columns);
  const labelled = (label: string, text: string) => labelledLines(label, text, page);
  const code = rule.fix.code ? codeLines(rule.fix.code, page, ' '.repeat(LABEL_WIDTH + 2)) : [];
  const lines = [
    ...hanging(`${rule.id}  `, rule.title, page, page.c.bold),
    '',
    ...labelled('needs', rule.needs),
    ...labelled('looks for', rule.looksFor),
    ...labelled('why', rule.why),
    ...labelled('fix', rule.fix.text),
    ...code.map(page.c.cyan),
    ...labelled('cost', rule.cost === null ? '' : COSTS[rule.cost]),
    ...labelled('risk', RISKS[rule.risk]),
    ...labelled('still right?', rule.check),
    ...rule.thresholds.flatMap((t, i) => threshold(t, i === 0, page)),
  ];
  return `${lines.join('\n')}\n`;
}

function threshold(t: Threshold, first: boolean, page: Page): string[] {
  const value = `${t.name} ${t.value}${t.unit ? ` ${t.unit}` : ''}`;
  return labelledLines(first ? 'thresholds' : '', `${value} (${t.source})`, page);
}

/** A line without text is left out: not every rule has a fix. */
function labelledLines(label: string, text: string, page: Page): string[] {
  if (text === '') return [];
  const [first, ...rest] = paragraph(text, page, ' '.repeat(LABEL_WIDTH + 2));
  return [`  ${page.c.dim(label.padEnd(LABEL_WIDTH))}${first!.slice(LABEL_WIDTH + 2)}`, ...rest];
}

function widest(texts: readonly string[]): number {
  return Math.max(...texts.map(displayWidth));
}
