import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeSystemError, InputError } from '../../base/input-error.js';
import type { Report } from '../../library/vocabulary.js';
import { renderCard } from '../../render/card.js';
import { renderJson } from '../../render/json.js';

/** For python/src/whyslow/reports.py, so that one reading of the run gives text, data and card. The folder is its own. */
export function writeParts(folder: string, report: Report): void {
  try {
    writeFileSync(join(folder, 'report.json'), renderJson(report));
    writeFileSync(join(folder, 'card.html'), renderCard(report));
  } catch (error) {
    throw new InputError(`cannot write to ${folder}: ${describeSystemError(error)}`);
  }
}
