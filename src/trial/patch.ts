import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import { type Edit, unifiedDiff } from '../base/unified-diff.js';
import { addAfterTorch, editCall } from '../lint/python/edit-calls.js';
import { readScript } from '../lint/python/read-script.js';
import type { Call, Script } from '../lint/python/script.js';
import { changeOf, type Use } from '../remedies/remedies.js';
import type { RankResult } from './rank-result.js';

/** The change as a patch of the user's own files, and the lines for which no place is known. */
export interface Patch {
  /** Null: no place is known. */
  readonly text: string | null;
  readonly byHand: readonly string[];
}

interface Fixed {
  readonly uses: readonly Use[];
  readonly framework: string;
  /** Of a turn with these fixes. */
  readonly result: Pick<RankResult, 'places' | 'applied'>;
}

/** Names of the same class. */
const ALSO: Readonly<Record<string, string>> = {
  DDP: 'DistributedDataParallel',
  FSDP: 'FullyShardedDataParallel',
};

/**
 * The calls that the trial changed are known by file and line. Settings of a framework go to the one call in the script that
 * takes them. `folder`: paths in the patch are relative to it.
 */
export async function patchFor(fixed: Fixed, command: readonly string[], folder: string): Promise<Patch> {
  const { uses, framework, result } = fixed;
  const script = await scriptOf(command, folder);
  const files = new Files(folder);
  const byHand: string[] = [];
  const own = callsApplied(result);
  const { calls, atStart, lines } = changeOf(
    uses.filter(({ id }) => !own.some((call) => call.id === id)),
    framework,
  );
  const places = uses.flatMap(({ id }) => result.places[id] ?? []);
  for (const { name, settings } of [...calls, ...own])
    if (!(await files.editCalls(name, settings, places, script)))
      byHand.push(`${name}(..., ${settings.join(', ')})`);
  const isStarted = script !== null && (await files.addAtStart(script, atStart));
  return { text: files.patch(), byHand: [...byHand, ...(isStarted ? [] : atStart), ...lines] };
}

/** Some fixes say which call they changed, and how: `AdamW(fused=True)`. */
function callsApplied({ applied }: Pick<RankResult, 'applied'>) {
  return Object.entries(applied).flatMap(([id, texts]) =>
    texts.flatMap((text) => {
      const found = /^(\w+)\((\w+=\w+)\)/.exec(text);
      return found ? [{ id, name: found[1]!, settings: [found[2]!] }] : [];
    }),
  );
}

/** The Python file that a command starts. Null: it is not among its words. */
async function scriptOf(command: readonly string[], folder: string): Promise<string | null> {
  const at = command.indexOf('-m');
  const module = at > 0 ? command[at + 1] : undefined;
  const inModule = module
    ? [`${module.replaceAll('.', '/')}.py`, `${module.replaceAll('.', '/')}/__main__.py`]
    : [];
  for (const word of [...command.filter((word) => word.endsWith('.py')), ...inModule]) {
    const path = resolve(folder, word);
    if (await isReadable(path)) return path;
  }
  return null;
}

/** No script written by people is longer. */
const MOST_BYTES = 1 << 20;

async function isReadable(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return (found?.isFile() && found.size <= MOST_BYTES) ?? false;
}

/** The user's files, and what is to change in them. */
class Files {
  readonly #edits = new Map<string, Edit[]>();
  readonly #scripts = new Map<string, Script | null>();

  constructor(readonly folder: string) {}

  /** Returns whether every call that takes the settings was found, and can take them. */
  async editCalls(
    name: string,
    settings: readonly string[],
    places: readonly string[],
    script: string | null,
  ): Promise<boolean> {
    const isIt = ({ method }: Call) =>
      method === name || method === ALSO[name] || (name === 'TrainingArguments' && method.endsWith(name));
    const found: { readonly file: string; readonly call: Call }[] = [];
    for (const place of new Set(places)) {
      const [, file, line] = /^(.*):(\d+)$/.exec(place) ?? [];
      const call = file === undefined ? null : await this.#callAt(file, Number(line), isIt);
      if (call) found.push({ file: file!, call });
    }
    if (found.length === 0 && script) {
      const all = (await this.#read(script))?.calls.filter(isIt) ?? [];
      if (all.length === 1) found.push({ file: script, call: all[0]! });
    }
    const made: [string, readonly Edit[]][] = [];
    for (const { file, call } of found) {
      const edits = editCall(call, settings, (await this.#read(file))!);
      if (!edits) return false;
      made.push([file, edits]);
    }
    for (const [file, edits] of made) this.#add(file, edits);
    return found.length > 0;
  }

  async addAtStart(file: string, lines: readonly string[]): Promise<boolean> {
    const script = await this.#read(file);
    const edit = script && lines.length > 0 ? addAfterTorch(lines, script) : null;
    if (edit) this.#add(file, [edit]);
    return Boolean(edit);
  }

  patch(): string | null {
    const texts = [...this.#edits].map(([file, edits]) => {
      const path = relative(this.folder, file);
      return unifiedDiff(path, this.#scripts.get(file)!.source.text, edits);
    });
    return texts.join('') || null;
  }

  /** Of several on the line, the innermost one that starts there. */
  async #callAt(file: string, line: number, isIt: (call: Call) => boolean): Promise<Call | null> {
    const script = await this.#read(file);
    if (!script) return null;
    const { source, calls } = script;
    const around = calls.filter(
      (call) => isIt(call) && source.lineAt(call.node.from) <= line && line <= source.lineAt(call.node.to),
    );
    return around.toSorted((a, b) => a.node.to - a.node.from - (b.node.to - b.node.from))[0] ?? null;
  }

  /** Null: it is not below the folder, or cannot be read as text. */
  async #read(file: string): Promise<Script | null> {
    const known = this.#scripts.get(file);
    if (known !== undefined) return known;
    const path = relative(this.folder, file);
    const isInside = !path.startsWith('..') && !isAbsolute(path);
    const text = isInside && (await isReadable(file)) ? await readFile(file, 'utf8').catch(() => null) : null;
    const script = text === null || text.includes('\uFFFD') ? null : readScript(text);
    this.#scripts.set(file, script);
    return script;
  }

  #add(file: string, edits: readonly Edit[]): void {
    const known = this.#edits.get(file) ?? [];
    // Two settings of one call come as one edit each, and two fixes may change the same argument alike.
    for (const edit of edits)
      if (!known.some(({ from, to, text }) => from === edit.from && to === edit.to && text === edit.text))
        known.push(edit);
    this.#edits.set(file, known);
  }
}
