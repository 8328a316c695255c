import { registerDiagnose } from './commands/diagnose.js';
import { runCommandLine } from './main.js';

/**
 * The command line with the one command that is used most. Bundled by itself it loads in a dozen files instead of forty, and
 * each costs Node about a millisecond.
 */
export const main = (argv: readonly string[]) =>
  runCommandLine(argv, { 'Every day:': { diagnose: async () => registerDiagnose } });
