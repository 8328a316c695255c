// `npm run site`: the documentation as static pages in build/site. They need no network and no server.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';
import { CONTENTS } from './contents.mjs';
import { rulePages } from './rule-pages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const docs = join(root, 'docs');

/** Where a page is on the site, from its path in the repository: docs/usage.md → usage.html, examples/README.md → examples.html. */
function addressOf(path) {
  const inDocs = path.startsWith('docs/') ? path.slice('docs/'.length) : path;
  if (inDocs === 'README.md') return 'index.html';
  if (inDocs === 'rules/index.md') return 'rules/index.html';
  // docs/python.md has the other address.
  if (inDocs === 'python/README.md') return 'capture.html';
  return inDocs.replace(/\/README\.md$/, '.md').replace(/\.md$/, '.html');
}

const slugOf = (text) =>
  text
    .toLowerCase()
    .replace(/<[^>]*>|[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Links between Markdown files become links between pages; a file that has no page is named, not linked. */
function linkOf(from, href, pages) {
  if (/^(?:https?:|#)/.test(href)) return href;
  const [file, anchor] = href.split('#');
  const target = posix.normalize(posix.join(posix.dirname(from), file));
  const page = pages.has(target)
    ? addressOf(target)
    : /\.(?:png|json)$/.test(target)
      ? target.replace(/^docs\//, '')
      : null;
  if (page === null) return null;
  const path = posix.relative(posix.dirname(addressOf(from)), page);
  return anchor ? `${path}#${anchor}` : path;
}

function renderMarkdown(path, text, pages) {
  const headings = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const id = slugOf(html);
        headings.push({ depth, id, html });
        return `<h${depth} id="${id}">${html}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const html = this.parser.parseInline(tokens);
        const to = linkOf(path, href, pages);
        return to === null ? html : `<a href="${escaped(to)}">${html}</a>`;
      },
      image({ href, text: alt }) {
        return `<img src="${escaped(linkOf(path, href, pages) ?? href)}" alt="${escaped(alt)}">`;
      },
      // A code of a problem is something that people look for and link to.
      codespan({ text: code }) {
        const isRow = path === 'docs/problems.md' && /^[a-z0-9]+(?:-[a-z0-9]+)+$/.test(code);
        return `<code${isRow ? ` id="${code}"` : ''}>${escaped(code)}</code>`;
      },
      table(token) {
        const row = (cells, tag) =>
          `<tr>${cells.map((c) => `<${tag}>${this.parser.parseInline(c.tokens)}</${tag}>`).join('')}</tr>`;
        return `<div class="table"><table><thead>${row(token.header, 'th')}</thead><tbody>${token.rows.map((r) => row(r, 'td')).join('')}</tbody></table></div>`;
      },
    },
  });
  return { html: marked.parse(text), headings };
}

const titleOf = (text) => (/^# (.+)$/m.exec(text)?.[1] ?? '').replace(/\\(.)/g, '$1').replaceAll('`', '');

function menu(from, pages) {
  const up = (address) => posix.relative(posix.dirname(from), address);
  return CONTENTS.map(([heading, files]) => {
    const items = files.map((file) => {
      const path = posix.normalize(posix.join('docs', file));
      const here = addressOf(path) === from ? ' aria-current="page"' : '';
      return `<li><a href="${up(addressOf(path))}"${here}>${escaped(titleOf(pages.get(path)))}</a></li>`;
    });
    return `<h2>${heading}</h2><ul>${items.join('')}</ul>`;
  }).join('\n');
}

function pageOf(path, text, pages) {
  const address = addressOf(path);
  const { html } = renderMarkdown(path, text, pages);
  const up = (file) => posix.relative(posix.dirname(address), file);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(titleOf(text))} · whyslow</title>
<link rel="stylesheet" href="${up('theme.css')}">
<link rel="stylesheet" href="${up('site.css')}">
<header><a class="home" href="${up('index.html')}">whyslow</a>
<label class="search"><span>Search</span> <input type="search" id="search" autocomplete="off" data-up="${up('index.html').replace('index.html', '')}"></label></header>
<ol id="hits" hidden></ol>
<input type="checkbox" id="menu"><label for="menu" class="menu">Menu</label>
<nav>${menu(address, pages)}</nav>
<main>${html}</main>
<script src="${up('index.js')}"></script>
<script src="${up('search.js')}"></script>
</html>
`;
}

/** What search looks at: the title of each page and its headings. */
function searchIndex(pages) {
  return [...pages].flatMap(([path, text]) => {
    const title = titleOf(text);
    const { headings } = renderMarkdown(path, text, pages);
    const codes = path === 'docs/problems.md' ? [...text.matchAll(/^\| `([^`]+)` \| ([^|]+)/gm)] : [];
    return [
      ...headings.map(({ id, html, depth }) => ({
        at: depth === 1 ? addressOf(path) : `${addressOf(path)}#${id}`,
        text: depth === 1 ? title : `${title}: ${html.replace(/<[^>]*>/g, '')}`,
      })),
      ...codes.map(([, code, what]) => ({
        at: `${addressOf(path)}#${code}`,
        text: `${code}: ${what.trim()}`,
      })),
    ];
  });
}

function write(out, address, content) {
  const path = join(out, address);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Builds all pages. Returns links that lead nowhere. */
export async function buildSite(out = join(root, 'build/site')) {
  const { rules } = await import('../dist/index.js');
  const files = ['README.md', ...CONTENTS.flatMap(([, list]) => list)].filter((f) => !f.startsWith('rules/'));
  const method = readdirSync(join(docs, 'method')).map((name) => `method/${name}`);
  const paths = new Set(
    [...files, ...method, 'adding-a-rule.md'].map((f) => posix.normalize(posix.join('docs', f))),
  );
  const pages = new Map([...paths].map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  for (const [path, text] of rulePages(rules)) pages.set(`docs/${path}`, text);
  rmSync(out, { recursive: true, force: true });
  for (const [path, text] of pages) write(out, addressOf(path), pageOf(path, text, pages));
  write(
    out,
    'index.js',
    `window.SITE_INDEX = ${JSON.stringify(searchIndex(pages)).replaceAll('<', '\\u003c')};\n`,
  );
  for (const name of ['site.css', 'search.js']) copyFileSync(new URL(name, import.meta.url), join(out, name));
  // The colors of the report's page.
  copyFileSync(join(root, 'web/app/theme.css'), join(out, 'theme.css'));
  cpSync(join(docs, 'images'), join(out, 'images'), { recursive: true });
  for (const name of readdirSync(docs).filter((n) => n.endsWith('.json')))
    copyFileSync(join(docs, name), join(out, name));
  return { pages: pages.size, broken: brokenLinks(out, pages) };
}

function brokenLinks(out, pages) {
  const ids = new Map();
  const idsOf = (file) => {
    if (!ids.has(file))
      ids.set(file, new Set([...readFileSync(file, 'utf8').matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)));
    return ids.get(file);
  };
  return [...pages.keys()].flatMap((path) => {
    const file = join(out, addressOf(path));
    const links = [...readFileSync(file, 'utf8').matchAll(/(?:href|src)="([^"]+)"/g)].map(([, href]) => href);
    return links
      .filter((href) => !/^https?:/.test(href))
      .filter((href) => {
        const [page, anchor] = href.split('#');
        const target = page === '' ? file : join(dirname(file), page);
        return !existsSync(target) || (anchor !== undefined && !idsOf(target).has(anchor));
      })
      .map((href) => `${relative(out, file)}: ${href}`);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { pages, broken } = await buildSite();
  for (const link of broken) console.error(`leads nowhere: ${link}`);
  console.log(`${pages} pages in build/site; open build/site/index.html`);
  process.exitCode = broken.length > 0 ? 1 : 0;
}
