import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { renderHtmlFile, renderHtmlShell } from './html.js';

const assets = { script: 'render("ü")', style: 'body{}' };
const sha = (text: string) => createHash('sha256').update(text).digest('base64');

describe('the page as one file', () => {
  const html = renderHtmlFile({
    title: '<b>"&',
    summary: '</noscript><img>',
    assets,
    data: { 'whyslow-page': 'AAAA' },
  });

  it('allows its own script and style and nothing else', () => {
    const [, policy] = /Content-Security-Policy" content="([^"]*)"/.exec(html)!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`script-src 'sha256-${sha(assets.script)}'`);
    expect(policy).toContain(`style-src 'sha256-${sha(assets.style)}'`);
    expect(policy).not.toMatch(/unsafe|http/);
    // What the hash is of.
    expect(html).toContain(`<script>${assets.script}</script>`);
    expect(html).toContain(`<style>${assets.style}</style>`);
  });

  it('holds data that nothing executes, and texts that are no markup', () => {
    expect(html).toContain('<script type="application/octet-stream" id="whyslow-page">AAAA</script>');
    expect(html).toContain('<title>&lt;b&gt;&quot;&amp;</title>');
    expect(html).toContain('&lt;/noscript&gt;&lt;img&gt;');
    expect(html).not.toContain('<img');
  });
});

it('the shell for a server has no script of its own', () => {
  const html = renderHtmlShell('a', { script: 'page.js', style: 'page.css' });
  expect(html).toContain('<script src="page.js"></script>');
  expect(html).not.toMatch(/<script>|<style>/);
});
