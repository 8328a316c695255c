import type { Command } from 'commander';
import { type CommandContext, say } from '../common/output.js';

interface McpFlags {
  readonly root?: readonly string[];
  readonly allowRun?: boolean;
}

const EXAMPLES = `
An agent starts it. For example, in the settings of a client:
  { "mcpServers": { "whyslow": { "command": "whyslow", "args": ["mcp"] } } }

Examples:
  $ whyslow mcp --root runs --root src
  $ whyslow mcp --allow-run             # also run, try and capture
  $ claude mcp add whyslow -- whyslow mcp

Without --root, the tools read what the client's roots allow; without those,
what you may read. They change nothing. With --allow-run an agent can run any
command with your rights. The server ends with its client.`;

export function registerMcp(program: Command, context: CommandContext): void {
  program
    .command('mcp')
    .description('serve the same answers to coding agents (Model Context Protocol)')
    .option('--root <dir...>', 'read only what is in these folders')
    .option('--allow-run', 'also offer run, try and capture, which start processes')
    .addHelpText('after', EXAMPLES)
    .action(async ({ root = [], allowRun = false }: McpFlags) => {
      const { serve } = await import('../../mcp/serve.js');
      await serve({ roots: root, allowRun, say: (text) => say(context, text) });
      // Readers of calls that were under way may still hold the process.
      process.exit();
    });
}
