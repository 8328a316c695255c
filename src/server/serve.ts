import { randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describeSystemError, InputError, messageOf } from '../base/input-error.js';
import type { OpenedRun } from '../library/open-run.js';
import { admit, HEADERS } from './guard.js';
import { answer, BadRequest } from './routes.js';

export interface Served {
  /** With the token. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves one run on 127.0.0.1. Port 0: a free one. Throws InputError when the port is taken. */
export async function serve(run: OpenedRun, port = 0): Promise<Served> {
  const token = randomBytes(16).toString('hex');
  let bound = port;
  const server = createServer(async (request, response) => {
    const url = admit(request, bound, token);
    if (!(url instanceof URL)) return send(response, url.status, 'text/plain', url.text);
    try {
      const found = await answer(run, url);
      if (found) send(response, 200, found.type, found.body);
      else send(response, 404, 'text/plain', 'not found');
    } catch (error) {
      const isOurs = !(error instanceof BadRequest || error instanceof RangeError);
      send(response, isOurs ? 500 : 400, 'text/plain', messageOf(error));
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new InputError(`cannot listen on port ${port}: ${describeSystemError(error)}`)),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  bound = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${bound}/${token}/`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, status: number, type: string, body: string | Uint8Array): void {
  response.writeHead(status, { ...HEADERS, 'Content-Type': type });
  response.end(body);
}
