import { readFile } from 'node:fs/promises';

/** The JSON object in a file; null while the file is missing or incomplete. */
export async function readJson(path: string): Promise<Readonly<Record<string, unknown>> | null> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
