import { describe, expect, it } from 'vitest';
import { encodedKey, shownAddress } from './address.js';
import { sectionsOf } from './aws-login.js';
import { BlockCache } from './block-cache.js';
import { codeIn } from './store.js';

describe('addresses', () => {
  it.each([
    ['https://me:pw@host/a/b.json?X-Amz-Signature=s#f', 'https://host/a/b.json'],
    ['HTTP://host?token=1', 'HTTP://host'],
    ['https://host/a@b/c', 'https://host/a@b/c'],
    ['s3://bucket/a?b#c', 's3://bucket/a?b#c'],
    ['runs/a?b', 'runs/a?b'],
  ])('%s are shown without secrets', (path, shown) => {
    expect(shownAddress(path)).toBe(shown);
  });

  it('have keys encoded as AWS signs them', () => {
    expect(encodedKey("a b/c+d/é(1)'*!")).toBe('a%20b/c%2Bd/%C3%A9%281%29%27%2A%21');
  });
});

it('profiles are read with comments and blocks', () => {
  const text =
    '# x\n[default]\nregion=a\n; c\n[ profile  lab ]\r\nkey = a=b \r\ns3 =\n  endpoint_url = http://x\n  other = 1\nregion = b\n';
  const sections = sectionsOf(text);
  expect(Object.fromEntries(sections.get('default')!)).toEqual({ region: 'a' });
  expect(Object.fromEntries(sections.get('profile lab')!)).toEqual({
    key: 'a=b',
    s3: '',
    's3.endpoint_url': 'http://x',
    's3.other': '1',
    region: 'b',
  });
});

it('the code of an error is a word, never what a server makes up', () => {
  expect(codeIn('<Error><Code>AccessDenied</Code></Error>')).toBe('AccessDenied');
  expect(codeIn('<Code>key=SECRET 123</Code>')).toBeNull();
});

it('random access takes few requests and a bounded part of a file', async () => {
  const size = 100 << 20;
  const asked: number[] = [];
  const cache = new BlockCache(size, async (at, length) => {
    asked.push(at);
    return new Uint8Array(length).fill(at >> 22);
  });
  for (let at = 0; at < 1 << 20; at += 1000) await cache.read(at, 100);
  expect(asked).toEqual([0]);
  const across = await cache.read((4 << 20) - 1, 2);
  expect([...across]).toEqual([0, 1]);
  expect((await cache.read(size - 5, 100)).length).toBe(5);
  expect((await cache.read(size, 100)).length).toBe(0);
});
