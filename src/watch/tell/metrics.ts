import { rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';

/** Where metrics go: a file that Prometheus' node_exporter picks up, or a port of this machine that it asks. */
export interface Metrics {
  /** Called after each look. Never fails and never waits. */
  update(text: string): void;
  close(): Promise<void>;
}

/** A number is a port. Throws if it is taken. */
export async function metricsTo(target: string): Promise<Metrics> {
  return /^\d+$/.test(target) ? endpoint(Number(target)) : metricsFile(target);
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

/** Only this machine is answered, and only GET /metrics of it by its own name: other websites must not read it. */
async function endpoint(port: number): Promise<Metrics> {
  let latest = '';
  const server = createServer((request, response) => {
    const host = (request.headers.host ?? '').replace(/:\d+$/, '');
    const isOurs = host === '127.0.0.1' || host === 'localhost';
    const status = !isOurs ? 403 : request.method !== 'GET' ? 405 : request.url === '/metrics' ? 200 : 404;
    response.writeHead(status, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(status === 200 ? latest : '');
  });
  server.maxConnections = 32;
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  server.on('error', () => {});
  // The job's end must not wait for a scraper.
  server.unref();
  return {
    update: (text) => {
      latest = text;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
