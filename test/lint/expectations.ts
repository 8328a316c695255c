import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LintedFile, lintFile } from '../../src/lint/lint-script.js';

/** What one script should give and what it gives, as `12 T4`: line and rule. */
export interface Scored {
  readonly file: string;
  readonly right: readonly string[];
  /** Reported, but not a fault. */
  readonly wrong: readonly string[];
  readonly missed: readonly string[];
}

/** Expectations are comments, `# expect: T4, T6`, or lines in a file next to a JSON file, `7 T23`. */
export function scoreFolder(folder: string): Scored[] {
  return readdirSync(folder)
    .filter((name) => /\.(?:py|json)$/.test(name))
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      return score(
        lintFile(name, text),
        name.endsWith('.json') ? listed(join(folder, name)) : commented(text),
      );
    });
}

export function score({ file, findings }: LintedFile, expected: readonly string[]): Scored {
  const found = findings.map(({ line, rule }) => `${line} ${rule}`);
  return {
    file,
    right: found.filter((f) => expected.includes(f)),
    wrong: found.filter((f) => !expected.includes(f)),
    missed: expected.filter((e) => !found.includes(e)),
  };
}

const commented = (text: string): string[] =>
  text.split('\n').flatMap((line, i) => {
    const rules = /# expect: (.+)$/.exec(line)?.[1] ?? '';
    return rules === '' ? [] : rules.split(',').map((rule) => `${i + 1} ${rule.trim()}`);
  });

function listed(json: string): string[] {
  try {
    return readFileSync(`${json}.expect`, 'utf8').trim().split('\n');
  } catch {
    return [];
  }
}
