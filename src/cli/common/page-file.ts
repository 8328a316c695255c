import { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describeSystemError, InputError } from '../../base/input-error.js';
import { packageRoot } from '../../base/package-root.js';
import { pack } from '../../base/packed.js';
import type { EmbeddedTimeline, PageData } from '../../library/page.js';
import type { CompareReport, Report } from '../../library/vocabulary.js';
import { renderCard } from '../../render/card.js';
import { type PageAssets, pageTitle, renderHtmlFile } from '../../render/html.js';
import { renderJson } from '../../render/json.js';

/** Before the work begins, not after: whether the file can be written. */
export function checkWritable(file: string): void {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK);
  } catch {
    throw new InputError(
      `cannot write ${file}: ${dirname(resolve(file))} is no folder that you may write to`,
    );
  }
}

/** Writes the page as one HTML file: as a whole or not at all. Returns its size in bytes. */
export function writePage(file: string, page: PageData, timeline: EmbeddedTimeline | null): number {
  const html = renderHtmlFile({
    title: pageTitle(page),
    summary: page.report.verdict.sentence,
    assets: assetsOf('page'),
    data: {
      'whyslow-page': zipped(page),
      ...(timeline && { 'whyslow-timeline': zipped(timeline) }),
    },
  });
  return writeWhole(file, html);
}

/** The same for a comparison. */
export function writeComparePage(file: string, report: CompareReport): number {
  const html = renderHtmlFile({
    title: `Step time: ${report.sentence}`,
    summary: report.notes.join('. '),
    assets: assetsOf('compare'),
    data: { 'whyslow-compare': zipped(report) },
  });
  return writeWhole(file, html);
}

function writeWhole(file: string, html: string): number {
  const partial = `${file}.${process.pid}.partial`;
  try {
    writeFileSync(partial, html);
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw new InputError(`cannot write ${file}: ${describeSystemError(error)}`);
  }
  return Buffer.byteLength(html);
}

const zipped = (data: unknown) => gzipSync(pack(data)).toString('base64');

function assetsOf(page: 'page' | 'compare'): PageAssets {
  const read = (name: string) => readFileSync(new URL(`dist/page/${name}`, packageRoot()), 'utf8');
  return { script: read(`${page}.js`), style: read(`${page}.css`) };
}

/** For python/src/whyslow/reports.py, so that one reading of the run gives text, data and card. The folder is its own. */
export function writeParts(folder: string, report: Report): void {
  try {
    writeFileSync(join(folder, 'report.json'), renderJson(report));
    writeFileSync(join(folder, 'card.html'), renderCard(report));
  } catch (error) {
    throw new InputError(`cannot write to ${folder}: ${describeSystemError(error)}`);
  }
}
