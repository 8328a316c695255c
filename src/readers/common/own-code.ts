/** Code of Python itself and of installed packages. The rest is the job's own. */
const LIBRARY =
  /(?:^|[\\/])(?:site-packages|dist-packages)[\\/]|[\\/]lib(?:64)?[\\/]python\d|^<|^(?:torch|multiprocessing|threading|runpy|concurrent|importlib|asyncio|socket|selectors|queue|subprocess)(?:[\\/]|\.py$)/;

/** Whether a file of a stack frame is of the job itself. */
export const isOwnFile = (file: string): boolean => file !== '' && !LIBRARY.test(file);
