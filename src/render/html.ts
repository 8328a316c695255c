import { createHash } from 'node:crypto';
import type { PageData } from '../page/page-data.js';

/** The bundled page of dist/page. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

export interface HtmlFile {
  readonly title: string;
  /** The verdict, for readers whose browser runs no scripts. */
  readonly summary: string;
  readonly assets: PageAssets;
  /** Bytes as base64 by the id of the element that holds them; nothing in them is executed. */
  readonly data: Readonly<Record<string, string>>;
}

/** What the browser's tab says. */
export const pageTitle = ({ title, report }: PageData): string =>
  title ?? `Why is it slow? ${report.verdict.sentence}`;

/** One file with everything in it. The policy allows this script and this style and no network at all. */
export function renderHtmlFile({ title, summary, assets, data }: HtmlFile): string {
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(assets.script)}'`,
    `style-src '${hashOf(assets.style)}'`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  const blocks = Object.entries(data).map(
    ([id, base64]) => `<script type="application/octet-stream" id="${escaped(id)}">${base64}</script>`,
  );
  return [
    ...head(title, `<meta http-equiv="Content-Security-Policy" content="${policy}">`),
    `<style>${assets.style}</style>`,
    '</head>',
    '<body>',
    `<noscript><h1>${escaped(title)}</h1><p>${escaped(summary)}</p><p>The rest of this page needs JavaScript.</p></noscript>`,
    ...blocks,
    `<script>${assets.script}</script>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

/** The same page for a server, which sends script, style and policy itself. Addresses are relative to the page. */
export function renderHtmlShell(title: string, addresses: PageAssets): string {
  return [
    ...head(title, `<link rel="stylesheet" href="${escaped(addresses.style)}">`),
    '</head>',
    '<body>',
    `<script src="${escaped(addresses.script)}"></script>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

const head = (title: string, more: string): string[] => [
  '<!doctype html>',
  '<html lang="en">',
  '<head>',
  '<meta charset="utf-8">',
  more,
  '<meta name="viewport" content="width=device-width, initial-scale=1">',
  '<meta name="color-scheme" content="light dark">',
  '<meta name="referrer" content="no-referrer">',
  '<link rel="icon" href="data:,">',
  `<title>${escaped(title)}</title>`,
];

const hashOf = (text: string) => `sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}`;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for HTML, also for the value of an attribute. */
export const escaped = (text: string) => text.replace(/[&<>"']/g, (c) => ENTITIES[c]!);
