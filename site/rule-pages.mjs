const COSTS = {
  free: 'free: a flag at start-up',
  knob: 'knob: an argument',
  code: 'code: an edit to the loop or the model',
  hardware: 'hardware: another machine or a repair',
};
const RISKS = {
  none: 'none: only the speed changes',
  memory: 'memory: it takes more memory',
  numerics: 'numerics: results may differ',
  data: 'data: the model may see other samples',
};

/** Texts of rules are plain: `__next__` is a name, not bold. */
const plain = (text) => text.replace(/[\\`*_{}[\]<>|#]/g, '\\$&');

/** The rules as Markdown: one page each, and a list of all. */
export function rulePages(rules) {
  return [
    ['rules/index.md', listOf(rules)],
    ...rules.map((rule) => [`rules/${rule.id}.md`, pageOf(rule, rules)]),
  ];
}

const named = ({ id, alias }) => (alias ? `${alias} · ${id}` : id);

function listOf(rules) {
  const rows = rules.map(
    (r) => `| [${r.id}](${r.id}.md) | ${r.alias ?? ''} | ${r.cost ?? ''} | ${plain(r.title)} |`,
  );
  return [
    '# Rules',
    '',
    'What whyslow looks for, and what it recommends. Reports name rules by number; rules that share a number fix parts of the same fault. `free` is a flag, `knob` an argument, `code` an edit.',
    '',
    '| rule | number | cost | title |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

function pageOf(rule, rules) {
  const part = (heading, text) => (text ? [`## ${heading}`, '', plain(text), ''] : []);
  const siblings = rules.filter((r) => r.alias !== null && r.alias === rule.alias && r !== rule);
  return [
    `# ${plain(rule.title)}`,
    '',
    `Rule \`${named(rule)}\`. Needs ${rule.needs}.`,
    '',
    ...part('What it looks for', rule.looksFor),
    ...part('Why it matters', rule.why),
    ...part('What to change', rule.fix.text),
    ...(rule.fix.code ? ['```python', rule.fix.code, '```', ''] : []),
    ...(rule.cost ? [`Cost: ${COSTS[rule.cost]}. Risk: ${RISKS[rule.risk]}.`, ''] : []),
    ...part('Is training still right?', rule.check),
    ...part('Good to know', rule.more),
    ...thresholdsOf(rule),
    ...(siblings.length > 0
      ? ['## Rules with the same number', '', ...siblings.map((r) => `- [${plain(r.title)}](${r.id}.md)`), '']
      : []),
  ].join('\n');
}

function thresholdsOf({ thresholds }) {
  if (thresholds.length === 0) return [];
  const figure = ({ value, unit }) =>
    unit.startsWith('of ')
      ? `${Math.round(value * 1000) / 10}% ${unit}`
      : `${value.toLocaleString('en-US')} ${unit}`;
  return [
    '## Thresholds',
    '',
    '| what | value | where it comes from |',
    '| --- | --- | --- |',
    ...thresholds.map((t) => `| ${plain(t.name)} | ${plain(figure(t))} | ${plain(t.source)} |`),
    '',
  ];
}
