import { main } from './all-commands.js';

/** The command line in one file: what `whyslow … --on ray` or `dask` sends to nodes that have only Node.js. */
process.exitCode = await main(process.argv.slice(2));
