/** The pages of the site in the order of the menu: [heading, [Markdown files relative to docs/]]. `rules` are generated. */
export const CONTENTS = [
  [
    'Start here',
    [
      'tutorials/first-diagnosis.md',
      'tutorials/late-rank.md',
      '../examples/README.md',
      'usage.md',
      'glossary.md',
    ],
  ],
  [
    'How to',
    [
      'python.md',
      'how-to/transformers.md',
      'how-to/lightning.md',
      'how-to/slurm.md',
      'how-to/kubernetes.md',
      'how-to/ci-gate.md',
      'how-to/hang.md',
      'how-to/share-report.md',
      'how-to/no-root.md',
      'how-to/offline-cluster.md',
      '../python/README.md',
    ],
  ],
  ['Help', ['troubleshooting.md', 'problems.md', 'platforms.md', 'comparison.md']],
  [
    'Reference',
    ['rules/index.md', 'inputs.md', 'library.md', 'tables.md', 'lint.md', 'what-capture-does.md'],
  ],
  [
    'How it decides',
    [
      'method/README.md',
      'method/verdict.md',
      'method/steps.md',
      'method/time.md',
      'method/prices.md',
      'method/late-ranks.md',
      'method/limits.md',
      'accuracy.md',
      'robustness.md',
    ],
  ],
];
