import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describeSystemError, InputError } from '../base/input-error.js';
import { type LintReport, type LintRule, RULE_NUMBERS } from '../lint/kit/finding.js';
import { type LintedFile, lintFile, MAX_BYTES } from '../lint/lint-script.js';
import { toolInfo } from '../report/tool-info.js';
import { shownAddress } from '../sources/remote/address.js';

/** Scripts, notebooks, and what DeepSpeed's configuration is usually called. */
const IN_FOLDERS = /\.(?:py|ipynb)$|^(?:ds|deepspeed|zero)[^/]*\.json$/i;
/** Tests train for other reasons than speed. */
const TEST = /^(?:test_.*|.*_test|conftest)\.py$/;
/** Folders with the code of others. */
const SKIPPED = /^\.|^(?:node_modules|__pycache__|site-packages|venv|env|build|dist)$/;
const MAX_FILES = 20_000;

/** Reports faults that training scripts show without running. Throws InputError when there is nothing to read. */
export async function lint(paths: readonly string[]): Promise<LintReport> {
  const files = (await Promise.all(paths.map(filesUnder))).flat();
  const linted: LintedFile[] = [];
  for (const file of new Set(files)) linted.push(await read(file));
  return {
    schema: 'whyslow/lint/1',
    findings: linted.flatMap((f) => f.findings),
    files: linted.map(({ file, findings, ignored, problems }) => ({
      path: file,
      findings: findings.length,
      ignored,
      problems,
    })),
    tool: toolInfo(),
  };
}

async function filesUnder(path: string): Promise<string[]> {
  const info = await stat(path).catch((error: unknown) => {
    throw new InputError(`${shownAddress(path)}: ${describeSystemError(error)}`);
  });
  if (!info.isDirectory()) {
    if (info.isFile()) return [path];
    throw new InputError(`${path}: it is neither a file nor a directory`);
  }
  const found: string[] = [];
  const folders = [path];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const inside = join(folder, entry.name);
      if (entry.isDirectory() && !SKIPPED.test(entry.name)) folders.push(inside);
      else if (entry.isFile() && IN_FOLDERS.test(entry.name) && !TEST.test(entry.name)) found.push(inside);
    }
    if (found.length > MAX_FILES)
      throw new InputError(`${path}: more than ${MAX_FILES} scripts; name the ones to check`);
  }
  if (found.length === 0)
    throw new InputError(`${path}: no Python scripts (*.py) or notebooks (*.ipynb) found`);
  return found.sort();
}

async function read(file: string): Promise<LintedFile> {
  const { size } = await stat(file);
  const skipped = (problem: string): LintedFile => ({ file, findings: [], ignored: 0, problems: [problem] });
  if (size > MAX_BYTES) return skipped(`not checked: it has more than ${MAX_BYTES / 2 ** 20} MB`);
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new InputError(`${file}: ${describeSystemError(error)}`);
  });
  if (content.includes('\0')) return skipped(`not checked: ${basename(file)} is not a text file`);
  return lintFile(file, content);
}

/** Rules by name or number, or `any` for all. Throws InputError for one that lint does not check. */
export function lintRules(names: readonly string[]): readonly LintRule[] {
  const all = Object.entries(RULE_NUMBERS) as [LintRule, string][];
  return names.flatMap((name) => {
    const wanted = name.toLowerCase();
    const chosen = all.filter(
      ([id, number]) => wanted === 'any' || wanted === id || wanted === number.toLowerCase(),
    );
    if (chosen.length === 0)
      throw new InputError(
        `lint does not check a rule ${name}. It checks ${all.map(([id, number]) => `${id} (${number})`).join(', ')}`,
      );
    return chosen.map(([id]) => id);
  });
}
