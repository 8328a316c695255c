import { z } from 'zod';
import { typed } from './schema-text.js';

/** Python dataclasses of the roots, by the names that they get there. `npm run schema` writes them. */
export function pythonText(roots: Readonly<Record<string, z.ZodType>>, source: string): string {
  const writer = new PythonWriter();
  for (const [name, root] of Object.entries(roots)) writer.declare(name, root);
  return [
    `"""Written by \`npm run schema\` from ${source}: change the files there."""`,
    '',
    'from __future__ import annotations',
    '',
    'from dataclasses import dataclass',
    'from typing import Literal',
    ...[...writer.declared.values()].map((text) => `\n\n${text}`),
    '',
  ].join('\n');
}

/** Ruff keeps lines of Python at this. */
const WIDTH = 120;
/** Only those that are field names: in dataclasses they get an underscore, which `reports.py` removes again. */
const KEYWORDS = new Set(['class', 'from', 'in', 'is', 'pass', 'global', 'lambda']);

class PythonWriter {
  /** By name, in an order in which each is declared before it is used. */
  readonly declared = new Map<string, string>();
  /** A part without a name of its own gets one where it is first used. */
  readonly #names = new Map<z.core.$ZodType, string>();

  declare(name: string, schema: z.core.$ZodType): string {
    const known = this.#names.get(schema);
    if (known) return known;
    if (this.declared.has(name)) throw new Error(`two parts of the schemas would be called ${name}`);
    this.#names.set(schema, name);
    const { def } = schema._zod as z.core.$ZodTypes['_zod'];
    const text = def.type === 'object' ? this.#class(name, schema, def.shape) : this.#alias(name, schema);
    this.declared.set(name, text);
    return name;
  }

  #alias(name: string, schema: z.core.$ZodType): string {
    const text = this.#plain(schema, name);
    const line = `${name} = ${text}`;
    const options = /^Literal\[(.*)\]$/.exec(text)?.[1];
    return line.length <= WIDTH || !options
      ? line
      : `${name} = Literal[\n${options
          .split(', ')
          .map((option) => `    ${option},\n`)
          .join('')}]`;
  }

  #class(name: string, schema: z.core.$ZodType, shape: z.core.$ZodShape): string {
    const doc = z.globalRegistry.get(schema)?.description;
    const fields = Object.entries(shape).map(([field, type]) => {
      const written = KEYWORDS.has(field) ? `${field}_` : field;
      const text = z.globalRegistry.get(type)?.description;
      const line = `    ${written}: ${this.#typeOf(type, `${name.replace(/Fields$/, '')}${pascal(field)}`)}`;
      return text ? `${line}\n${docstring(text)}` : line;
    });
    return [
      '@dataclass(frozen=True)',
      `class ${name}:`,
      ...(doc ? [docstring(doc), ''] : []),
      ...fields,
    ].join('\n');
  }

  #typeOf(schema: z.core.$ZodType, place: string): string {
    const known = this.#names.get(schema);
    if (known) return known;
    const { def } = schema._zod as z.core.$ZodTypes['_zod'];
    const given = typed.get(schema)?.type;
    // Units are numbers here: their names are those of fields.
    if (def.type === 'number') return this.#plain(schema, place);
    // A description makes a copy of the schema, with the same name.
    if (given) return this.declared.has(given) ? given : this.declare(given, schema);
    return def.type === 'object' ? this.declare(singular(place), schema) : this.#plain(schema, place);
  }

  #plain(schema: z.core.$ZodType, place: string): string {
    const { def } = schema._zod as z.core.$ZodTypes['_zod'];
    switch (def.type) {
      case 'array':
        return `tuple[${this.#typeOf(def.element, place)}, ...]`;
      case 'nullable':
        return `${this.#typeOf(def.innerType, place)} | None`;
      case 'record':
        return `dict[${this.#typeOf(def.keyType, place)}, ${this.#typeOf(def.valueType, place)}]`;
      case 'enum':
        return `Literal[${Object.values(def.entries).map(quoted).join(', ')}]`;
      case 'literal':
        return `Literal[${def.values.map(quoted).join(', ')}]`;
      case 'union':
        return def.options.map((option) => this.#typeOf(option, place)).join(' | ');
      case 'string':
        return 'str';
      case 'number':
        return (schema as z.ZodNumber).isInt ? 'int' : 'float';
      case 'boolean':
        return 'bool';
      default:
        throw new Error(`no Python for a schema of type ${def.type}`);
    }
  }
}

function docstring(text: string): string {
  const whole = text.endsWith('"') ? `${text} ` : text;
  const line = `    """${whole}"""`;
  return line.length <= WIDTH ? line : `    """\n${wrapped(text, WIDTH - 4)}\n    """`;
}

function wrapped(text: string, width: number): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines.map((line) => `    ${line}`).join('\n');
}

const quoted = (value: unknown) => JSON.stringify(value);
const pascal = (field: string) =>
  field.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
const singular = (name: string) => name.replace(/([^s])s$/, '$1');
