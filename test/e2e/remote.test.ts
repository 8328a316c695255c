import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { quoted } from '../../src/base/printable.js';
import { diagnose } from '../../src/library/diagnose.js';
import { inspect } from '../../src/library/inspect.js';
import { zip } from '../helpers/archives.js';
import { SOAK } from '../helpers/cases.js';
import { inFolder, root, type Started, start, until, whyslow } from '../helpers/cli.js';
import { cpuTime } from '../helpers/cpu-time.js';
import {
  type Fault,
  type LoopbackServer,
  type Seen,
  startProxy,
  startServer,
} from '../helpers/fault-proxy.js';
import { python } from '../helpers/python.js';

const RANKS = join(root, 'test/fixtures/zoo-ranks/straggler_host');
const TRACE = readFileSync(join(RANKS, 'rank0.json.gz'));
const NAMES = [0, 1, 2, 3].map((rank) => `rank${rank}.json.gz`);

const running: LoopbackServer[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const proxy of running.splice(0)) await proxy.close();
});
const eventsOf = async (path: string) => (await inspect(path, { jobs: 1 })).inputs.map((i) => i.events);

describe.skipIf(!existsSync(python))('S3', () => {
  let server: Started;
  let login: { endpoint: string; id: string; secret: string };
  let local: number[];
  beforeAll(async () => {
    local = [...(await eventsOf(join(RANKS, NAMES[0]!)))];
    await inFolder(async (folder) => {
      mkdirSync(join(folder, 'run/.git'), { recursive: true });
      for (const name of NAMES) copyFileSync(join(RANKS, name), join(folder, 'run', name));
      writeFileSync(join(folder, 'run/.git/config'), 'no capture');
      writeFileSync(join(folder, 'run/empty.json'), '');
      mkdirSync(join(folder, 'odd'));
      copyFileSync(join(RANKS, NAMES[0]!), join(folder, "odd/a b+c%20d&é(1)'*.json.gz"));
      writeFileSync(join(folder, 'packed.zip'), zip([{ name: 'rank0.json.gz', data: TRACE }]));
      server = start(python, [join(root, 'test/helpers/s3_server.py'), folder]);
      await until(() => server.said.stdout.includes('\n'), 'the S3 server', 60);
    });
    login = JSON.parse(server.said.stdout) as typeof login;
  }, 90_000);
  afterAll(async () => {
    server.child.stdin.end();
    await server.ended;
  });

  /** Settings of the AWS tools, and none of this machine's. */
  function use(env: Readonly<Record<string, string>>): void {
    const none = [
      'AWS_PROFILE',
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
      'AWS_SESSION_TOKEN',
      'AWS_REGION',
    ];
    for (const name of none) vi.stubEnv(name, '');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  }
  const withKeys = (endpoint = login.endpoint) =>
    use({ AWS_ENDPOINT_URL_S3: endpoint, AWS_ACCESS_KEY_ID: login.id, AWS_SECRET_ACCESS_KEY: login.secret });
  async function throughFaults(faultOf: (seen: Seen, nth: number) => Fault | null): Promise<LoopbackServer> {
    const proxy = await startProxy(login.endpoint, faultOf);
    running.push(proxy);
    withKeys(proxy.url);
    return proxy;
  }

  it('gives the same report as the files on disk: a prefix, listed page by page', async () => {
    withKeys();
    const remote = await diagnose('s3://runs/run/', { jobs: 1 });
    const onDisk = await diagnose(
      NAMES.map((name) => join(RANKS, name)),
      { jobs: 1 },
    );
    const paths = ({ inputs }: typeof remote) => inputs.map((i) => i.path);
    expect(paths(remote)).toEqual(NAMES.map((name) => `s3://runs/run/${name}`));
    expect(remote.ignored).toEqual(['s3://runs/run/empty.json']);
    const { inputs: _a, ignored: _b, ...rest } = remote;
    expect(rest).toMatchObject({ verdict: onDisk.verdict, step: onDisk.step, stragglers: onDisk.stragglers });
    // Advice names the path it was given.
    const here = JSON.stringify(onDisk.findings).replaceAll(quoted(RANKS), 's3://runs/run');
    expect(rest.findings).toEqual(JSON.parse(here));
  });

  it.each([
    ['one object', 's3://runs/run/rank0.json.gz', 1],
    ['a prefix without a slash', 's3://runs/run', 4],
    ['a pattern', 's3://runs/run/rank[0-3]*.gz'.replace('[0-3]', '?'), 4],
    ['a key of odd characters', "s3://runs/odd/a b+c%20d&é(1)'*.json.gz", 1],
    ['a prefix with such a key', 's3://runs/odd/', 1],
    ['an archive, by ranges', 's3://runs/packed.zip', 1],
  ])('reads %s', async (_, path, count) => {
    withKeys();
    const events = await eventsOf(path);
    expect(events).toHaveLength(count);
    expect(events[0]).toBe(local[0]);
  });

  it.each<[string, (seen: Seen, nth: number) => Fault | null]>([
    ['answers 503', (_, nth) => (nth < 2 ? { status: 503 } : null)],
    ['is cut in the middle, twice', (_, nth) => (nth === 1 || nth === 2 ? { cutAfter: 30_000 } : null)],
    ['stands still', (_, nth) => (nth === 1 ? { stallAfter: 20_000 } : null)],
    ['ends too early', (_, nth) => (nth === 1 ? { endAfter: 50_000 } : null)],
    ['knows no ranges, and is cut', (_, nth) => (nth === 1 ? { cutAfter: 30_000 } : { ignoreRange: true })],
  ])('reads all of an object whose server %s', async (_, faultOf) => {
    const proxy = await throughFaults(faultOf);
    vi.stubEnv('WHYSLOW_HTTP_TIMEOUT', '0.5');
    expect(await eventsOf('s3://runs/run/rank0.json.gz')).toEqual(local);
    expect(proxy.seen.length).toBeGreaterThan(2);
  });

  it('asks only for the rest after a cut', async () => {
    const proxy = await throughFaults((_, nth) => (nth === 1 ? { cutAfter: 30_000 } : null));
    await eventsOf('s3://runs/run/rank0.json.gz');
    expect(proxy.seen.map((s) => s.range)).toEqual(['bytes=0-0', 'bytes=0-', 'bytes=30000-']);
  });

  it('does not mix two versions of an object', async () => {
    await throughFaults((_, nth) =>
      nth === 1 ? { cutAfter: 30_000 } : nth === 2 ? { tag: '"other"' } : null,
    );
    await expect(eventsOf('s3://runs/run/rank0.json.gz')).rejects.toThrow(
      'cannot read s3://runs/run/rank0.json.gz: it changed while it was read',
    );
  });

  if (SOAK)
    it('gives up after six attempts, and says how far it came', async () => {
      await throughFaults((seen) => (seen.range === 'bytes=0-0' ? null : { cutAfter: 0 }));
      vi.stubEnv('WHYSLOW_HTTP_TIMEOUT', '1');
      await expect(eventsOf('s3://runs/run/rank0.json.gz')).rejects.toThrow(
        /^cannot read s3:\/\/runs\/run\/rank0\.json\.gz: the connection was cut; tried 6 times after 0 B of 102 kB$/,
      );
      await throughFaults(() => ({ status: 503 }));
      await expect(eventsOf('s3://runs/run/rank0.json.gz')).rejects.toThrow(
        'cannot read s3://runs/run/rank0.json.gz: the server is too busy (503 SlowDown); try again later',
      );
    }, 60_000);

  it('leaves out an object that cannot be read, and reads the others', async () => {
    await throughFaults((seen) => (seen.path.includes('rank1.json.gz') ? { status: 404 } : null));
    const report = await inspect('s3://runs/run/rank*', { jobs: 1 });
    expect(report.ranks).toEqual([0, 2, 3]);
    expect(JSON.stringify(report)).toContain(
      'cannot read s3://runs/run/rank1.json.gz: not found (404 SlowDown)',
    );
  });

  it('says what was used to log in, and never a secret', async () => {
    const path = 's3://runs/run/rank0.json.gz';
    const faults: [Readonly<Record<string, string>>, RegExp][] = [
      [
        { AWS_ACCESS_KEY_ID: login.id, AWS_SECRET_ACCESS_KEY: 'wrong' },
        /access denied \(403 SignatureDoesNotMatch\); logged in with AWS_ACCESS_KEY_ID$/,
      ],
      [
        { AWS_ACCESS_KEY_ID: 'nobody', AWS_SECRET_ACCESS_KEY: login.secret },
        /access denied \(403 InvalidAccessKeyId\); logged in with AWS_ACCESS_KEY_ID$/,
      ],
      [
        {},
        /access denied \(403\); no AWS keys were found \(AWS_ACCESS_KEY_ID, AWS_PROFILE, ~\/\.aws\/credentials\)$/,
      ],
    ];
    for (const [env, words] of faults) {
      use({ AWS_ENDPOINT_URL_S3: login.endpoint, ...env });
      const error = (await eventsOf(path).catch((e: unknown) => e)) as Error;
      expect(error.message).toMatch(words);
      expect(error.message).not.toContain(login.secret);
      expect(error.message).not.toContain('wrong');
    }
    withKeys();
    await expect(eventsOf('s3://runs/nothing')).rejects.toThrow('there is no such object, and none below it');
    await expect(eventsOf('s3://other-bucket/run/')).rejects.toThrow(
      /cannot read s3:\/\/other-bucket\/run\/: not found \(404 NoSuchBucket\)/,
    );
    use({ AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9' });
    await expect(eventsOf(path)).rejects.toThrow(`cannot read ${path}: the connection was refused`);
  }, 60_000);

  it(
    'takes profiles as the AWS tools do',
    () =>
      inFolder(async (folder) => {
        const [credentials, config] = [join(folder, 'credentials'), join(folder, 'config')];
        const keys = `aws_access_key_id = ${login.id}\naws_secret_access_key=${login.secret}\n`;
        writeFileSync(
          credentials,
          `[default]\naws_access_key_id = nobody\naws_secret_access_key = x\n\n[lab]\n${keys}`,
        );
        writeFileSync(
          config,
          `[profile lab]\nregion = eu-west-1\nservices = local\n\n[services local]\ns3 =\n  endpoint_url = ${login.endpoint}\n\n[profile sso]\nsso_start_url = https://x\n`,
        );
        const files = { AWS_SHARED_CREDENTIALS_FILE: credentials, AWS_CONFIG_FILE: config };
        use({ ...files, AWS_PROFILE: 'lab' });
        expect(await eventsOf('s3://runs/run/rank0.json.gz')).toEqual(local);
        use({ ...files, AWS_ENDPOINT_URL: login.endpoint });
        await expect(eventsOf('s3://runs/run/rank0.json.gz')).rejects.toThrow(
          'logged in with the AWS profile default',
        );
        use({ ...files, AWS_PROFILE: 'sso', AWS_ENDPOINT_URL: login.endpoint, PATH: folder });
        await expect(eventsOf('s3://runs/run/rank0.json.gz')).rejects.toThrow(
          /the AWS profile sso logs in with .* needs the AWS CLI/,
        );
        // The AWS CLI gives the keys of roles and single sign-on.
        const json = JSON.stringify({ Version: 1, AccessKeyId: login.id, SecretAccessKey: login.secret });
        writeFileSync(join(folder, 'aws'), `#!/bin/sh\n[ "$5 $6" = "--profile sso" ] && echo '${json}'\n`, {
          mode: 0o755,
        });
        expect(await eventsOf('s3://runs/run/rank0.json.gz')).toEqual(local);
      }),
    60_000,
  );

  if (SOAK)
    it('takes the role of a container', async () => {
      const json = JSON.stringify({
        AccessKeyId: login.id,
        SecretAccessKey: login.secret,
        Expiration: '2099-01-01T00:00:00Z',
      });
      const roles = await startServer((incoming, outgoing) =>
        outgoing.writeHead(incoming.headers.authorization === 'let me in' ? 200 : 403).end(json),
      );
      running.push(roles);
      const env = {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${roles.url}/role`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN: 'let me in',
      };
      use({ AWS_ENDPOINT_URL_S3: login.endpoint, ...env });
      expect(await eventsOf('s3://runs/run/rank0.json.gz')).toEqual(local);
      expect(roles.seen).toHaveLength(1);
    });

  it('threads read addresses from a list too', () =>
    inFolder(async (folder) => {
      const list = [
        '# ranks',
        ...NAMES.map((name) => `s3://runs/run/${name}`),
        '',
        join(RANKS, 'truth_rank0.json'),
      ];
      writeFileSync(join(folder, 'urls.txt'), list.join('\n'));
      const env = {
        AWS_ENDPOINT_URL_S3: login.endpoint,
        AWS_ACCESS_KEY_ID: login.id,
        AWS_SECRET_ACCESS_KEY: login.secret,
        AWS_EC2_METADATA_DISABLED: 'true',
      };
      const { code, stdout, stderr } = await whyslow(['diagnose', '@urls.txt', '--jobs', '2'], {
        cwd: folder,
        env,
      });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('Rank 2 is late in every step');
    }));
});

describe('addresses of web servers', () => {
  const files = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const range = /^bytes=(\d+)-(\d*)$/.exec(incoming.headers.range ?? '');
    if (!range) return outgoing.writeHead(200, { etag: '"1"' }).end(TRACE);
    const [from, to] = [Number(range[1]), range[2] ? Number(range[2]) + 1 : TRACE.length];
    const headers = { etag: '"1"', 'content-range': `bytes ${from}-${to - 1}/${TRACE.length}` };
    return outgoing.writeHead(206, headers).end(TRACE.subarray(from, to));
  };
  const serve = async (answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void) => {
    const server = await startServer(answer);
    running.push(server);
    return server;
  };

  it('signed addresses are read, and their signatures are not shown', async () => {
    const server = await serve(files);
    const report = await inspect(`${server.url}/rank0.json.gz?X-Amz-Signature=secret`, { jobs: 1 });
    expect(report.inputs).toMatchObject([{ path: `${server.url}/rank0.json.gz`, rank: 0 }]);
    expect(JSON.stringify(report)).not.toContain('secret');
    const gone = await serve((_, outgoing) => outgoing.writeHead(403).end());
    const error = (await inspect(`${gone.url}/x?sig=secret`, { jobs: 1 }).catch((e: unknown) => e)) as Error;
    expect(error.message).toBe(
      `cannot read ${gone.url}/x: access denied (403); the address needs a login that it does not have, or its signature has expired`,
    );
  });

  it('follow redirects, and give passwords to the first host only', async () => {
    const other = await serve(files);
    const first = await serve((incoming, outgoing) => {
      if (incoming.url === '/a') outgoing.writeHead(302, { location: '/b' }).end();
      else outgoing.writeHead(307, { location: `${other.url}/rank0.json.gz` }).end();
    });
    const address = first.url.replace('http://', 'http://me:secret@');
    expect(await eventsOf(`${address}/a`)).toHaveLength(1);
    expect(first.seen.every((s) => s.authorization === `Basic ${btoa('me:secret')}`)).toBe(true);
    expect(other.seen.length).toBeGreaterThan(0);
    expect(other.seen.every((s) => s.authorization === undefined)).toBe(true);
    const circle = await serve((_, outgoing) => outgoing.writeHead(302, { location: '/' }).end());
    await expect(eventsOf(`${circle.url}/x`)).rejects.toThrow(
      `cannot read ${circle.url}/x: it is redirected too often`,
    );
    const file = await serve((_, outgoing) =>
      outgoing.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    );
    await expect(eventsOf(`${file.url}/x`)).rejects.toThrow(
      'it is redirected to an address that is not safe',
    );
  });

  it('give a reason soon if the answer does not end and does not say how long it is', async () => {
    const block = Buffer.alloc(1 << 20, ' ');
    const server = await serve((_, outgoing) => {
      outgoing.writeHead(200).write('{"schemaVersion":1,"traceEvents":[');
      const more = () => {
        while (!outgoing.destroyed && outgoing.write(block));
      };
      outgoing.on('drain', more).on('error', () => {});
      more();
    });
    const begun = cpuTime();
    const error = (await inspect(`${server.url}/a.json`, { jobs: 1 }).catch((e: unknown) => e)) as Error;
    expect(error.message).toMatch(/did not end after 1\.07 GB, and the server does not say how long it is/);
    expect(cpuTime() - begun).toBeLessThan(8000);
  });

  it('say what to do where it is not a file', async () => {
    await expect(eventsOf('https://example.invalid/run/')).rejects.toThrow(
      /cannot be listed; name the files .* @FILE$/,
    );
    const page = await serve((_, outgoing) => outgoing.end('<!doctype html><html>log in</html>'));
    await expect(eventsOf(`${page.url}/x`)).rejects.toThrow(
      /it is a web page \(HTML\), perhaps a saved login page/,
    );
  });

  it('work with gs:, with the token of Google’s tools', async () => {
    const names = ['run/rank0.json.gz', 'run/rank1.json.gz'];
    const server = await serve((incoming, outgoing) => {
      const url = new URL(incoming.url!, 'http://x');
      if (incoming.headers.authorization !== 'Bearer token-1')
        return outgoing.writeHead(401).end('{"error":{"errors":[{"reason":"authError"}]}}');
      if (url.searchParams.get('alt') === 'media') return files(incoming, outgoing);
      const page = Number(url.searchParams.get('pageToken') ?? 0);
      const items = [{ name: names[page], size: String(TRACE.length) }];
      return outgoing.end(JSON.stringify(page === 0 ? { items, nextPageToken: '1' } : { items }));
    });
    vi.stubEnv('STORAGE_EMULATOR_HOST', server.url);
    vi.stubEnv('GOOGLE_OAUTH_ACCESS_TOKEN', 'token-1');
    const report = await inspect('gs://bucket/run/', { jobs: 1 });
    expect(report.inputs.map((i) => i.path)).toEqual(names.map((name) => `gs://bucket/${name}`));
    expect(server.seen.map((s) => s.path)).toContain('/storage/v1/b/bucket/o/run%2Frank1.json.gz?alt=media');
    vi.stubEnv('GOOGLE_OAUTH_ACCESS_TOKEN', 'secret');
    const error = (await inspect('gs://bucket/run/', { jobs: 1 }).catch((e: unknown) => e)) as Error;
    expect(error.message).toBe(
      'cannot read gs://bucket/run/: access denied (401 authError); logged in with GOOGLE_OAUTH_ACCESS_TOKEN',
    );
  });
});

describe('lists of a broken store', () => {
  const listed = async (pages: (page: number) => string, address: string, env: string) => {
    let count = 0;
    const server = await startServer((incoming, outgoing) => {
      const isList = /list-type|\/o\?/.test(incoming.url!);
      outgoing.writeHead(isList ? 200 : 404).end(isList ? pages(count++) : '');
    });
    running.push(server);
    vi.stubEnv(env, server.url);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'a');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'b');
    const error = (await inspect(address, { jobs: 1 }).catch((e: unknown) => e)) as Error;
    return error.message;
  };

  it('lists of a broken store that never end are given up, with the reason', async () => {
    const s3 = (n: number) =>
      `<IsTruncated>true</IsTruncated><NextContinuationToken>${n}</NextContinuationToken>`;
    const gcs = (n: number) => JSON.stringify({ items: [], nextPageToken: `${n >> 1}` });
    expect(await listed(s3, 's3://bucket/run/', 'AWS_ENDPOINT_URL_S3')).toMatch(/the list does not end/);
    expect(await listed(gcs, 'gs://bucket/run/', 'STORAGE_EMULATOR_HOST')).toMatch(/the list does not end/);
  });

  it('lists of a broken store with entries that are none are read without them, in time', async () => {
    const begun = cpuTime();
    const s3 = () => '<Contents>'.repeat(200_000);
    expect(await listed(s3, 's3://bucket/run/', 'AWS_ENDPOINT_URL_S3')).toMatch(/cannot read|no such object/);
    const gcs = () => JSON.stringify({ items: [null, 5, { name: 7 }, []] });
    expect(await listed(gcs, 'gs://bucket/run/', 'STORAGE_EMULATOR_HOST')).toMatch(/no such object/);
    expect(cpuTime() - begun).toBeLessThan(5000);
  });
});

describe('a list of paths', () => {
  it('names files and folders, one a line', () =>
    inFolder(async (folder) => {
      writeFileSync(
        join(folder, 'list'),
        `# two\r\n${join(RANKS, NAMES[0]!)}\r\n\r\n  ${join(RANKS, NAMES[1]!)}  \n`,
      );
      expect(await eventsOf(`@${join(folder, 'list')}`)).toHaveLength(2);
      writeFileSync(join(folder, 'empty'), '# nothing\n');
      await expect(eventsOf(`@${join(folder, 'empty')}`)).rejects.toThrow(/the list .*empty names no files/);
      await expect(eventsOf(`@${join(folder, 'none')}`)).rejects.toThrow(
        /cannot read the list .*none: no such file/,
      );
    }));
});
