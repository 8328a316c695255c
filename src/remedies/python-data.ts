import { FRAMEWORKS } from './frameworks.js';
import { TRIALS } from './remedies.js';

const HEAD = `"""Written by \`npm run remedies\` from src/remedies, the catalog of fixes. Do not edit."""

from __future__ import annotations
`;

/** The Python modules that are written from the catalog, by path below `python/src`. */
export function pythonData(): ReadonlyMap<string, string> {
  const ids = TRIALS.map(({ id }) => `    "${id}",`);
  const modules = FRAMEWORKS.flatMap(({ id, modules }) => modules.map((name) => `    ("${name}", "${id}"),`));
  return new Map([
    [
      'whyslow_trials/remedies.py',
      `${HEAD}
from typing import Literal

TrialId = Literal[
${ids.join('\n')}
]
"""Fixes that a trial can apply, in the order in which \`whyslow try --all\` runs them."""
`,
    ],
    [
      'whyslow_capture/loops.py',
      `${HEAD}
LOOPS: tuple[tuple[str, str], ...] = (
${modules.join('\n')}
)
"""Modules whose calls show that a framework runs the training loop. One that uses another comes before it."""
`,
    ],
  ]);
}
