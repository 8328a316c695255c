import { fileURLToPath } from 'node:url';
import { packageRoot } from '../base/package-root.js';

/** whyslow in one file, for machines where it is not installed. It finds the others by their place. */
export const TASK_PROGRAM = 'dist/task.js';
const PROGRAM_FILES = [TASK_PROGRAM, 'wasm/scanner.wasm', 'package.json'];

/** The oldest Node.js that runs it, as in package.json. */
export const LEAST_NODE = [20, 19];

/** Path of a file of this package. */
export const inPackage = (name: string): string => fileURLToPath(new URL(name, packageRoot()));

/** What must travel to a machine that has nothing but Node.js: paths here, by name there. */
export const programFiles = (): Readonly<Record<string, string>> =>
  Object.fromEntries(PROGRAM_FILES.map((name) => [name, inPackage(name)]));
