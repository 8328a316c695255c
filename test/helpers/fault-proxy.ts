import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What goes wrong with one answer. Counts are bytes of its body. */
export type Fault =
  | { readonly status: number }
  /** The connection breaks. */
  | { readonly cutAfter: number }
  /** Nothing more comes, and the connection stays open. */
  | { readonly stallAfter: number }
  /** It ends as if that were all. */
  | { readonly endAfter: number }
  /** The whole object, whatever was asked for. */
  | { readonly ignoreRange: true }
  /** It has become another object. */
  | { readonly tag: string };

export interface Seen {
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
}

export interface LoopbackServer {
  readonly url: string;
  readonly seen: readonly Seen[];
  close(): Promise<void>;
}

/** Passes requests on and does to the answers what `faultOf` says. `nth` counts requests for the same path. */
export async function startProxy(
  target: string,
  faultOf: (seen: Seen, nth: number) => Fault | null,
): Promise<LoopbackServer> {
  const seen: Seen[] = [];
  const server = createServer((incoming, outgoing) => {
    const { range, authorization } = incoming.headers;
    const now = { path: incoming.url!, range, authorization };
    const nth = seen.filter((s) => s.path === now.path).length;
    seen.push(now);
    const fault = faultOf(now, nth);
    if (fault && 'status' in fault) outgoing.writeHead(fault.status).end('<Code>SlowDown</Code>');
    else void passOn(target, incoming, outgoing, fault);
  });
  return { url: await listening(server), seen, close: () => closed(server) };
}

async function passOn(
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  fault: Fault | null,
) {
  const headers = { ...incoming.headers };
  if (fault && 'ignoreRange' in fault) delete headers.range;
  const [answer] = (await once(
    request(new URL(incoming.url!, target), { method: incoming.method, headers }).end(),
    'response',
  )) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const out = { ...answer.headers };
  if (fault && 'tag' in fault) out.etag = fault.tag;
  if (fault && 'endAfter' in fault) {
    delete out['content-length'];
    outgoing.writeHead(answer.statusCode!, out).end(body.subarray(0, fault.endAfter));
    return;
  }
  outgoing.writeHead(answer.statusCode!, out);
  const limit =
    fault && 'cutAfter' in fault ? fault.cutAfter : fault && 'stallAfter' in fault ? fault.stallAfter : null;
  if (limit === null) outgoing.end(body);
  else
    outgoing.write(body.subarray(0, limit), () => {
      if (fault && 'cutAfter' in fault) outgoing.destroy();
    });
}

/** A server of any kind on loopback. */
export async function startServer(
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): Promise<LoopbackServer> {
  const seen: Seen[] = [];
  const server = createServer((incoming, outgoing) => {
    const { range, authorization } = incoming.headers;
    seen.push({ path: incoming.url!, range, authorization });
    answer(incoming, outgoing);
  });
  return { url: await listening(server), seen, close: () => closed(server) };
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
