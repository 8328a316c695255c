import { createServer } from 'node:http';

export interface ServedMetrics {
  update(text: string): void;
  close(): Promise<void>;
}

/** Only this machine is answered, and only GET /metrics of it by its own name: other websites must not read it. */
export async function serveMetrics(port: number): Promise<ServedMetrics> {
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
