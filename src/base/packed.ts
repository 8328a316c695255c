/**
 * Plain data with typed arrays as bytes: a line of JSON, then the arrays as they are. Compresses far better than numbers as
 * text or as base64, and is read without a copy. Little-endian, as every machine that runs this.
 */
const KINDS = {
  u8: Uint8Array,
  i32: Int32Array,
  u16: Uint16Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;
type Kind = keyof typeof KINDS;
type Column = InstanceType<(typeof KINDS)[Kind]>;

/** Stands for an array in the JSON: kind, position after the header, length. */
const MARK = '$column';

export function pack(value: unknown): Uint8Array<ArrayBuffer> {
  const columns: { readonly at: number; readonly column: Column }[] = [];
  let size = 0;
  const json = JSON.stringify(value, (_, field: unknown) => {
    const kind = kindOf(field);
    if (!kind) return field;
    const column = field as Column;
    columns.push({ at: size, column });
    const entry = { [MARK]: [kind, size, column.length] };
    size += aligned(column.byteLength);
    return entry;
  });
  const header = new TextEncoder().encode(json);
  const start = aligned(4 + header.length);
  const bytes = new Uint8Array(start + size);
  new DataView(bytes.buffer).setUint32(0, header.length, true);
  bytes.set(header, 4);
  for (const { at, column } of columns)
    bytes.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), start + at);
  return bytes;
}

/** The arrays share the memory of `bytes`. */
export function unpack<T>(bytes: Uint8Array<ArrayBuffer>): T {
  // Arrays of doubles must begin at a multiple of eight.
  const whole = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  const length = new DataView(whole.buffer, whole.byteOffset).getUint32(0, true);
  const start = whole.byteOffset + aligned(4 + length);
  const text = new TextDecoder().decode(whole.subarray(4, 4 + length));
  return JSON.parse(text, (_, field: unknown) => {
    const entry = (field as { [MARK]?: [Kind, number, number] } | null)?.[MARK];
    // A name in a trace may be the same as the mark: its value is never a list.
    return Array.isArray(entry) ? new KINDS[entry[0]](whole.buffer, start + entry[1], entry[2]) : field;
  }) as T;
}

function kindOf(value: unknown): Kind | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  const kind = (Object.keys(KINDS) as Kind[]).find((k) => value instanceof KINDS[k]);
  if (!kind) throw new Error(`no column: ${value.constructor.name}`);
  return kind;
}

const aligned = (n: number) => Math.ceil(n / 8) * 8;
