import { largest } from '../../base/statistics.js';
import { formatWholePercent, share } from '../../base/units.js';
import type { Cost, Risk } from '../../remedies/kit/remedy.js';
import type { RuleInfo, Threshold } from '../../rules/kit/rule.js';
import { codeLines, hanging, type Page, pageFor, paragraph } from './page.js';
import { displayWidth, padToWidth } from './text.js';

export interface RulesOptions {
  readonly color: boolean;
  readonly columns?: number | undefined;
}

/** Width of the column of labels. */
const LABEL_WIDTH = 13;

const COSTS: Readonly<Record<Cost, string>> = {
  free: 'free: a flag at start-up',
  knob: 'knob: an argument',
  code: 'code: an edit to the loop or the model',
  hardware: 'hardware: another machine or a repair',
};
const RISKS: Readonly<Record<Risk, string>> = {
  none: 'none: only the speed changes',
  memory: 'memory: it takes more memory',
  numerics: 'numerics: results may differ',
  data: 'data: the model may see other samples',
};

/** Narrower titles go on lines of their own. */
const MIN_TITLE = 24;

/** All rules, one per line where there is room. */
export function renderRuleList(rules: readonly RuleInfo[], options: RulesOptions): string {
  const page = pageFor(options.color, options.columns);
  const rows = [
    { id: 'rule', alias: '', cost: 'cost', title: 'title' },
    ...rules.map((r) => ({ id: r.id, alias: r.alias ?? '', cost: r.cost ?? '–', title: r.title })),
  ];
  const widths = (['id', 'alias', 'cost'] as const).map((key) => widest(rows.map((r) => r[key])));
  const [heading, ...lines] = rows.map(({ id, alias, cost, title }) => {
    const cells = [id, alias, cost].map((cell, i) => padToWidth(cell, widths[i]!));
    const lead = `  ${cells.join('  ')}  `;
    return displayWidth(lead) + MIN_TITLE <= page.width
      ? hanging(lead, title, page)
      : [lead.trimEnd(), ...paragraph(title, page, '    ')];
  });
  const all = [
    ...heading!.map(page.c.dim),
    ...lines.flat(),
    '',
    ...paragraph(NUMBERS, page, '  ', page.c.dim),
  ];
  return `${all.join('\n')}\n`;
}

const NUMBERS =
  'Reports name rules by number: T1–T23 are those of the throughput guide, W1–W6 are whyslow’s own. Rules that share a number fix parts of one fault. `whyslow rules num-workers-zero` or `whyslow rules T4` shows one in full.';

/** One rule in full. */
export function renderRule(rule: RuleInfo, options: RulesOptions): string {
  const page = pageFor(options.color, options.columns);
  const labeled = (label: string, text: string) => labeledLines(label, text, page);
  const code = rule.fix.code ? codeLines(rule.fix.code, page, ' '.repeat(LABEL_WIDTH + 2)) : [];
  const lines = [
    ...hanging(`${rule.id}${rule.alias ? ` (${rule.alias})` : ''}  `, rule.title, page, page.c.bold),
    '',
    ...labeled('needs', rule.needs),
    ...labeled('looks for', rule.looksFor),
    ...labeled('why', rule.why),
    ...labeled('fix', rule.fix.text),
    ...code.map(page.c.cyan),
    ...labeled('cost', rule.cost === null ? '' : COSTS[rule.cost]),
    ...labeled('risk', RISKS[rule.risk]),
    ...labeled('still right?', rule.check),
    ...labeled('more', rule.more ?? ''),
    ...rule.thresholds.flatMap((t, i) => thresholdLines(t, i === 0, page)),
  ];
  return `${lines.join('\n')}\n`;
}

function thresholdLines({ name, value, unit, source }: Threshold, first: boolean, page: Page): string[] {
  // `of the step`, `of peak`: a share.
  const figure = unit.startsWith('of ') ? formatWholePercent(share(value)) : value.toLocaleString('en-US');
  const text = [name, figure, unit, `(${source})`].filter((part) => part !== '').join(' ');
  return labeledLines(first ? 'thresholds' : '', text, page);
}

/** Nothing for an empty text: not every rule has a cost. */
function labeledLines(label: string, text: string, page: Page): string[] {
  if (text === '') return [];
  const [first, ...rest] = paragraph(text, page, ' '.repeat(LABEL_WIDTH + 2));
  return [`  ${page.c.dim(label.padEnd(LABEL_WIDTH))}${first!.slice(LABEL_WIDTH + 2)}`, ...rest];
}

function widest(texts: readonly string[]): number {
  return largest(texts.map(displayWidth));
}
