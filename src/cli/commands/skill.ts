import fs, { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describeSystemError, InputError } from '../../base/input-error.js';
import { makeFolders } from '../../base/make-folders.js';
import { packageRoot } from '../../base/package-root.js';
import { asTyped } from '../../launch/out-directory.js';
import { type CommandContext, say } from '../common/output.js';

interface SkillFlags {
  readonly to: string;
  readonly force?: boolean;
}

const FILE = 'SKILL.md';
const EXAMPLES = `
Examples:
  $ whyslow skill                       # print it
  $ whyslow skill install               # for agents that work in this folder
  $ whyslow skill install --to ~/.claude/skills/whyslow`;

export function registerSkill(program: Command, context: CommandContext): void {
  program
    .command('skill')
    .description('instructions for coding agents: print them, or install them')
    .argument('[action]', 'install, or nothing to print them')
    .option('--to <dir>', 'where to install them', join('.claude', 'skills', 'whyslow'))
    .option('--force', 'replace a file that is there')
    .addHelpText('after', EXAMPLES)
    .action((action: string | undefined, options: SkillFlags) => {
      const text = readFileSync(new URL(`skills/whyslow/${FILE}`, packageRoot()), 'utf8');
      if (action === undefined) context.stdout.write(text);
      else if (action === 'install') install(text, options, context);
      else throw new InputError(`skill can only be installed, not "${action}": whyslow skill install`);
    });
}

function install(text: string, { to, force = false }: SkillFlags, context: CommandContext): void {
  const file = join(to, FILE);
  if (existsSync(file) && readFileSync(file, 'utf8') !== text && !force)
    throw new InputError(`${asTyped(file)} is there and differs; --force replaces it`);
  try {
    makeFolders(to, fs);
    writeFileSync(file, text);
  } catch (error) {
    throw new InputError(`cannot write ${asTyped(file)}: ${describeSystemError(error)}`);
  }
  say(context, `installed ${asTyped(file)}`);
}
