import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { commandWithoutSecrets, withoutSecrets } from './secrets.js';

const { cases }: { cases: [string[], string[]][] } = JSON.parse(
  readFileSync(new URL('../../test/fixtures/secrets.json', import.meta.url), 'utf8'),
);

describe('secrets in command lines and addresses', () => {
  it.each(cases)('secrets in a command line are hidden, and nothing else: %j', (words, shown) => {
    expect(commandWithoutSecrets(words)).toEqual(shown);
    expect(commandWithoutSecrets(shown)).toEqual(shown);
  });

  it('secrets in the text of a command line are hidden', () => {
    expect(withoutSecrets('python t.py --api-key abc --lr 0.1 --password=x')).toBe(
      'python t.py --api-key *** --lr 0.1 --password=***',
    );
  });

  it('a long text takes time in proportion to its length', () => {
    for (const part of ['token', 'a-', 'a.b_token ', 'https://', ':', '@', '--', 'sk-', 'eyJ.'])
      withoutSecrets(part.repeat(50_000));
  });
});
