import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { InputError } from '../base/input-error.js';
import { bytes, formatBytes, formatCount } from '../base/units.js';
import { addressSpaceLeft, softLimit } from '../readers/common/limits.js';

/** What this machine allows, as far as it can be known. */
export interface Machine {
  readonly cores: number;
  readonly freeMemory: number;
  /** Under `ulimit -v`. */
  readonly addressSpace: number;
  readonly openFilesLimit: number;
  readonly openFiles: number;
}

/** Threads may wait for a slow disk. */
const PER_CORE = 2;
/** Of one more thread, measured: 15 MB at rest, up to 200 with a large trace. */
const MEMORY = 256e6;
/** 600 to 850 MB of a thread; V8 ends the process when it cannot have them. */
const ADDRESS_SPACE = 1.5e9;
/** A thread keeps 4 open, the file it reads, and about ten while it loads its modules. */
const OPEN_FILES = 16;

/** With less than this V8 aborted in most of 16 tries (ulimit -v below 1.4 GB); nothing can catch that. */
const LEAST_ADDRESS_SPACE = 200e6;

/** Throws InputError where reading would end the process. */
export function mustHaveAddressSpace(left: number = addressSpaceLeft()): void {
  if (left >= LEAST_ADDRESS_SPACE) return;
  const [has, needs] = [Math.max(0, left), LEAST_ADDRESS_SPACE].map((n) => formatBytes(bytes(n)));
  throw new InputError(
    `ulimit -v leaves ${has} of address space; reading needs ${needs}. Raise it and try again`,
  );
}

/** How many files can be read at once, and what the limit is. */
export function mostJobs(machine: Machine = thisMachine()): { readonly jobs: number; readonly why: string } {
  const { cores, freeMemory, addressSpace, openFilesLimit, openFiles } = machine;
  const limits = [
    { jobs: cores * PER_CORE, why: `this machine has ${formatCount(cores, 'core')}` },
    { jobs: Math.floor(freeMemory / MEMORY), why: `${formatBytes(bytes(freeMemory))} of memory are free` },
    {
      jobs: Math.floor(addressSpace / ADDRESS_SPACE),
      why: `ulimit -v leaves ${formatBytes(bytes(Math.max(0, addressSpace)))}`,
    },
    {
      jobs: Math.floor((openFilesLimit - openFiles) / OPEN_FILES),
      why: `ulimit -n is ${openFilesLimit}`,
    },
  ];
  const lowest = limits.reduce((a, b) => (b.jobs < a.jobs ? b : a));
  return { jobs: Math.max(1, lowest.jobs), why: lowest.why };
}

/** Starting a thread takes as long as reading this many stored bytes. */
export const WORTH_A_THREAD = 4e6;

function thisMachine(): Machine {
  return {
    cores: availableParallelism(),
    freeMemory: process.availableMemory(),
    addressSpace: addressSpaceLeft(),
    openFilesLimit: softLimit('Max open files'),
    openFiles: openFilesNow(),
  };
}

function openFilesNow(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}
