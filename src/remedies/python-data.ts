import { FRAMEWORKS } from './frameworks.js';
import { TRIALS } from './remedies.js';

/** The Python module that the capture reads: the ids of fixes that a trial can apply, and modules that name a framework. */
export function pythonData(): string {
  const ids = TRIALS.map(({ id }) => `    "${id}",`);
  const titles = TRIALS.map(({ id, title }) => `    "${id}": "${title}",`);
  const modules = FRAMEWORKS.flatMap(({ id, modules }) => modules.map((name) => `    ("${name}", "${id}"),`));
  return `"""Written by \`npm run remedies\` from src/remedies, the catalog of fixes. Do not edit."""

from __future__ import annotations

from typing import Literal

TrialId = Literal[
${ids.join('\n')}
]

TITLES: dict[TrialId, str] = {
${titles.join('\n')}
}
"""Fixes that a trial can apply, in the order in which \`whyslow try --all\` runs them."""

LOOPS: tuple[tuple[str, str], ...] = (
${modules.join('\n')}
)
"""Modules whose calls show that a framework runs the training loop. One that uses another comes before it."""
`;
}
