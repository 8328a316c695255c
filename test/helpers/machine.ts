import type { MachineFiles } from '../../src/machine/files.js';

/** For tests: files by path. A value that starts with `->` is a link. */
export function fakeFiles(contents: Readonly<Record<string, string>>): MachineFiles {
  const paths = Object.keys(contents);
  return {
    read: (path) => {
      const text = contents[path];
      return text === undefined || text.startsWith('->') ? null : text;
    },
    list: (path) => {
      const below = paths
        .filter((p) => p.startsWith(`${path}/`))
        .map((p) => p.slice(path.length + 1).split('/')[0]!);
      return [...new Set(below)];
    },
    link: (path) => (contents[path]?.startsWith('->') ? contents[path].slice(2) : null),
  };
}

/** A line of `/proc/PID/stat`. */
export const statLine = (pid: number, name: string, state: string, parent: number, ticks = 0): string =>
  `${pid} (${name}) ${state} ${parent} 1 1 0 -1 4194304 100 0 7 0 ${ticks} 0 0 0 20 0 1 0 100 1000 10`;
