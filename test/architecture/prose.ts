import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What people read: output, rules, docs, comments and test titles. Recordings and tables of other tools keep their own words. */
const READ = /^(?:src|web|test|python|docs|bench|scripts|zoo|wasm)\/.*\.(?:tsx?|mjs|py|md)$|^[A-Z]+\.md$/;
const NOT_OURS = /^(?:test\/fixtures|zoo\/(?:clean|fixtures))\/.*[^d]$|style\.test\.ts$|prose\.ts$/;

export const proseFiles = (): readonly string[] =>
  execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
    .split('\0')
    .filter((file) => READ.test(file) && !NOT_OURS.test(file) && existsSync(join(ROOT, file)));

const TYPESCRIPT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g;
const PYTHON = /"""[\s\S]*?"""|#[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;
/** A string that is one word is a key or a name, which other code may rely on. */
const ONE_WORD = /^['"`][\w./-]*['"`]$/;

/** Comments and texts of a source file, without names and the code inside templates; all of a document. */
export function proseIn(file: string, text: string): string {
  if (/\.(?:md|tsx)$/.test(file)) return text;
  const parts = text.match(file.endsWith('.py') ? PYTHON : TYPESCRIPT) ?? [];
  return parts
    .filter((part) => !ONE_WORD.test(part))
    .map((part) => part.replace(/\$?\{[^{}]*\}/g, '{}'))
    .join('\n');
}

/** Their section "Words" shows what not to write. */
const SHOWS_BOTH = ['CONTRIBUTING.md', 'docs/internal/smaller-house.md'];
export function proseOf(file: string): string {
  const text = proseIn(file, readFileSync(join(ROOT, file), 'utf8'));
  return SHOWS_BOTH.includes(file) ? text.replace(/^## Words$[\s\S]*?^(?=## )/m, '') : text;
}
