import { randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describeSystemError, InputError, messageOf } from '../base/input-error.js';
import { type Answer, admit, answer, BadRequest, HEADERS, type Shown } from './routes.js';

export interface Served {
  /** With the token. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the page on 127.0.0.1. Port 0: a free one. Throws InputError when the port is taken. */
export async function serve(shown: Shown, port = 0): Promise<Served> {
  const token = randomBytes(16).toString('hex');
  let bound = port;
  const server = createServer(async (request, response) => {
    const url = admit(request, bound, token);
    if (!(url instanceof URL)) return send(response, url.status, 'text/plain', url.text);
    try {
      const found = await answer(shown, url);
      if (found) sendAnswer(response, found);
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

function sendAnswer(response: ServerResponse, { type, body, policy }: Answer): void {
  if (policy) response.setHeader('Content-Security-Policy', policy);
  send(response, 200, type, body);
}

function send(response: ServerResponse, status: number, type: string, body: string | Uint8Array): void {
  for (const [name, value] of Object.entries(HEADERS))
    if (!response.hasHeader(name)) response.setHeader(name, value);
  response.writeHead(status, { 'Content-Type': type });
  response.end(body);
}
