import { rename, rm, writeFile } from 'node:fs/promises';

/** Where metrics go: a file that Prometheus' node_exporter picks up, or a port of this machine that it asks. */
export interface Metrics {
  /** Called after each look. Never fails and never waits. */
  update(text: string): void;
  close(): Promise<void>;
}

/** Replaced as a whole: a reader must never see half of it. What could not be written is written with the next look. */
export function metricsFile(path: string): Metrics {
  const temporary = `${path}.${process.pid}.tmp`;
  let [writing, latest, written] = [Promise.resolve(), '', ''];
  let isBusy = false;
  const write = async () => {
    try {
      while (latest !== written) {
        const text = latest;
        await writeFile(temporary, text, { mode: 0o644 });
        await rename(temporary, path);
        written = text;
      }
    } catch {
      // A full disk, or a folder that is gone.
      await rm(temporary, { force: true }).catch(() => {});
    }
    isBusy = false;
  };
  return {
    update: (text) => {
      latest = text;
      if (isBusy) return;
      isBusy = true;
      writing = write();
    },
    close: () => writing,
  };
}
