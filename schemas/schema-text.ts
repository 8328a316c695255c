import { z } from 'zod';

/** The text of a file such as docs/report.schema.json, for programs that read our JSON. `npm run schema` writes them. */
export function jsonSchemaText(described: z.ZodType): string {
  const schema = z.toJSONSchema(described, { target: 'draft-2020-12' });
  return `${JSON.stringify(schema, null, 2)}\n`;
}

interface NamedType {
  readonly type: string;
  /** The module below src/ that has the type. Without it the type is written with the others. */
  readonly from?: string;
}

/** The TypeScript types of parts of schemas. Parts without a name are written where they are used. */
export const typed = z.registry<NamedType>();

/** Names parts of a schema, e.g. `{ ReportStep: step }`. */
export function nameTypes(parts: Readonly<Record<string, z.ZodType>>, from?: string): void {
  for (const [type, part] of Object.entries(parts)) typed.add(part, from ? { type, from } : { type });
}

const unit = (type: string): NamedType => ({ type, from: 'base/units' });
export const anyMs = z.number().register(typed, unit('Ms'));
export const ms = z.number().min(0).register(typed, unit('Ms'));
export const us = z.number().register(typed, unit('Us'));
export const seconds = z.number().register(typed, unit('Seconds'));
export const fraction = z.number().min(0).max(1).register(typed, unit('Share'));

/** TypeScript that declares the types of schemas, without zod: users of the library need not have it. `npm run schema` writes it. */
export function typesText(roots: readonly z.ZodType[], source: string): string {
  const writer = new TypeWriter();
  for (const root of roots) writer.typeOf(root);
  return [
    `/** Written by \`npm run schema\` from ${source}: change that file. */`,
    '',
    ...writer.importLines(),
    '',
    [...writer.declared.values()].join('\n\n'),
    '',
  ].join('\n');
}

/** As wide as biome lets a line be. */
const WIDTH = 110;

class TypeWriter {
  /** By name, in the order in which they are first used. */
  readonly declared = new Map<string, string>();
  readonly #imports = new Map<string, Set<string>>();

  importLines(): string[] {
    const lines = [...this.#imports].sort(([a], [b]) => (a < b ? -1 : 1));
    return lines.map(([path, types]) =>
      ['import type {', [...types].sort().join(', '), '} from', `${quoted(`../${path}.js`)};`].join(' '),
    );
  }

  typeOf(schema: z.core.$ZodType): string {
    const known = typed.get(schema);
    if (!known) return this.#plain(schema);
    if (known.from) {
      this.#imports.set(known.from, (this.#imports.get(known.from) ?? new Set()).add(known.type));
    } else if (!this.declared.has(known.type)) {
      this.declared.set(known.type, ''); // its place in the order
      this.declared.set(known.type, this.#declaration(known, schema));
    }
    return known.type;
  }

  #declaration({ type }: NamedType, schema: z.core.$ZodType): string {
    const { def } = schema._zod as z.core.$ZodTypes['_zod'];
    const text =
      def.type === 'object'
        ? `export interface ${type} {\n${this.#fields(def.shape).join('\n')}\n}`
        : `export type ${type} = ${this.#plain(schema)};`;
    const doc = z.globalRegistry.get(schema)?.description;
    return doc ? `/** ${doc} */\n${text}` : text;
  }

  #fields(shape: z.core.$ZodShape): string[] {
    return Object.entries(shape).map(([name, schema]) => {
      const field = `readonly ${name}: ${this.typeOf(schema)};`;
      const text = z.globalRegistry.get(schema)?.description;
      if (!text) return `  ${field}`;
      const inLine = `  /** ${text} */ ${field}`;
      return inLine.length <= WIDTH ? inLine : `  /** ${text} */\n  ${field}`;
    });
  }

  #plain(schema: z.core.$ZodType): string {
    const { def } = schema._zod as z.core.$ZodTypes['_zod'];
    switch (def.type) {
      case 'object':
        return `{\n${this.#fields(def.shape).join('\n')}\n}`;
      case 'array': {
        const element = this.typeOf(def.element);
        return `readonly ${/[|]/.test(element) && !element.startsWith('{') ? `(${element})` : element}[]`;
      }
      case 'nullable':
        return `${this.typeOf(def.innerType)} | null`;
      case 'record':
        return `Readonly<Record<${this.typeOf(def.keyType)}, ${this.typeOf(def.valueType)}>>`;
      case 'enum':
        return Object.values(def.entries).map(quoted).join(' | ');
      case 'literal':
        return def.values.map(quoted).join(' | ');
      case 'union':
        return def.options.map((option) => this.typeOf(option)).join(' | ');
      case 'string':
      case 'number':
      case 'boolean':
      case 'null':
        return def.type;
      default:
        throw new Error(`no TypeScript for a schema of type ${def.type}`);
    }
  }
}

const quoted = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value));
