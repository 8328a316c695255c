import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { type Environment, pythonPart } from '../../launch/environment.js';
import { jsonObject } from '../../launch/small-file.js';

/** How the kernel keeps the user's files as they are. */
export interface Protection {
  /** `overlay`: what the job writes lands in a scratch folder. `landlock`: writes are denied. `none`: the user asked for it. */
  readonly how: 'overlay' | 'landlock' | 'none';
  /** Folder for scratch folders. */
  readonly base: string;
  /** Starts the job. Empty: it is started directly. */
  readonly launcher: readonly string[];
  readonly network: boolean;
}

interface Wishes {
  readonly command: readonly string[];
  readonly env: Environment;
  /** Folders for scratch folders, the best first. */
  readonly bases: readonly string[];
  readonly network: boolean;
  readonly ways?: readonly string[];
}

/** The first protection that works here, tried out on a file of our own. Otherwise the reasons why none does. */
export async function findProtection(wishes: Wishes): Promise<Protection | readonly string[]> {
  const { command, env, bases, network, ways = ['overlay', 'landlock'] } = wishes;
  if (process.platform !== 'linux') return ['it needs Linux'];
  for (const python of pythons(command, env)) {
    const launcher = [python, '-I', '-S', '-B', join(pythonPart().source, 'whyslow_trials/protect')];
    const found = await ask([...launcher, JSON.stringify({ ways, bases, network })]);
    if (!found) continue;
    const { how, base } = found;
    if ((how === 'overlay' || how === 'landlock') && typeof base === 'string')
      return { how, base, launcher, network };
    return Array.isArray(found.reasons) ? found.reasons.map(String) : [];
  }
  return ['no Python was found to start the job with'];
}

export const unprotected = (base: string): Protection => ({ how: 'none', base, launcher: [], network: true });

/** The command, so that it starts protected. `writable`: folders of ours that its processes write to. */
export function protectedCommand(
  { how, launcher, network }: Protection,
  command: readonly string[],
  places: { readonly layers: string; readonly writable: readonly string[] },
): readonly string[] {
  return how === 'none' ? command : [...launcher, JSON.stringify({ how, network, ...places }), ...command];
}

/** That of the job first: it is surely there, and works. */
function pythons(command: readonly string[], env: Environment): readonly string[] {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  const program = command[0] ?? '';
  const places = program.includes('/') ? [program] : folders.map((folder) => join(folder, program));
  const own = places.find((path) => existsSync(path));
  const next = own === undefined ? [] : [dirname(own), dirname(realpathSync(own))];
  const found = [...next, ...(env.VIRTUAL_ENV ? [join(env.VIRTUAL_ENV, 'bin')] : []), ...folders]
    .flatMap((folder) => [join(folder, 'python3'), join(folder, 'python')])
    .filter((path) => existsSync(path));
  return [...new Set([...(own && /^python[\d.]*$/.test(basename(own)) ? [own] : []), ...found])].slice(
    0,
    MOST,
  );
}

const MOST = 4;
const SECONDS = 30;

/** Null: this Python cannot run it. */
const ask = (words: readonly string[]): Promise<Readonly<Record<string, unknown>> | null> =>
  new Promise((resolve) => {
    execFile(words[0]!, words.slice(1), { timeout: 1000 * SECONDS }, (_, stdout) =>
      resolve(jsonObject(stdout)),
    );
  });
