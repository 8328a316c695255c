import { readSmallFile } from './small-file.js';

/** The JSON object in a file of a capture. Null while the file is missing, incomplete, or not one that capture writes. */
export async function readJson(path: string): Promise<Readonly<Record<string, unknown>> | null> {
  const text = await readSmallFile(path);
  return text === null ? null : jsonObject(text);
}

/** Null when the text is not a JSON object. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
