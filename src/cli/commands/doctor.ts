import type { Command } from 'commander';
import type { CommandContext } from '../common/context.js';
export function registerDoctor(_p: Command, _c: CommandContext): void {}
