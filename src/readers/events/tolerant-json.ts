import { type JsonObject, parseObject } from '../common/json-object.js';

/** Where a record or header begins; inside a JSON text its quotes would be escaped. */
const OBJECT_START = /(?=\{\s*"(?:name|whyslow)")/;
const MAX_PIECES = 16;

/**
 * The whole objects in a line that is not one: a process died in the middle of a record and the next one appended
 * right behind it, or two wrote at once.
 */
export function salvageObjects(text: string): readonly JsonObject[] {
  const pieces = text.split(OBJECT_START, MAX_PIECES);
  return pieces.length < 2 ? [] : pieces.map(parseObject).filter((object) => object !== null);
}
