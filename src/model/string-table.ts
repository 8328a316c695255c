/** Strings of a trace as written in the file: raw JSON tokens end to end. Plain data that moves between threads. */
export interface StringData {
  readonly bytes: Uint8Array;
  /** Token i is bytes[starts[i], starts[i + 1]). Token 0 means "none". */
  readonly starts: Uint32Array;
}

/** Text by id, decoded when first asked for. */
export class StringTable {
  readonly #data: StringData;
  readonly #texts: (string | undefined)[] = [];

  constructor(data: StringData) {
    this.#data = data;
  }

  get size(): number {
    return this.#data.starts.length - 1;
  }

  /** Bytes of the token as in the file, quotes included. */
  raw(id: number): Uint8Array {
    return this.#data.bytes.subarray(this.#data.starts[id]!, this.#data.starts[id + 1]!);
  }

  /** A string's text, or a number's, array's or literal's JSON. Empty for "none". */
  text(id: number): string {
    let text = this.#texts[id];
    if (text === undefined) {
      text = decodeToken(this.raw(id));
      this.#texts[id] = text;
    }
    return text;
  }

  /** Whether the token was a JSON string (and not a number, array, ...). */
  isString(id: number): boolean {
    return this.raw(id)[0] === 0x22;
  }

  /** The token as a JSON value; undefined for "none", the raw text where it is not JSON. */
  value(id: number): unknown {
    if (id === 0) return undefined;
    if (this.isString(id)) return this.text(id);
    try {
      return JSON.parse(this.text(id));
    } catch {
      return this.text(id);
    }
  }

  /**
   * A function of a string's text whose answers are kept. A text is decoded and tested only when its id first comes up, so
   * patterns for host calls never see the long names of kernels.
   */
  memo(answer: (text: string) => number): (id: number) => number {
    const known = new Uint8Array(this.size);
    const answers = new Int32Array(this.size);
    return (id) => {
      if (known[id] === 0) {
        known[id] = 1;
        answers[id] = answer(this.text(id));
      }
      return answers[id]!;
    };
  }
}

const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

/** Strings lose their quotes and escapes; everything else stays as it is written. Invalid UTF-8 becomes U+FFFD. */
export function decodeToken(token: Uint8Array): string {
  const text = lenient.decode(token);
  if (text.charCodeAt(0) !== 0x22) return text;
  const closed = text.length > 1 && text.endsWith('"');
  const inner = text.slice(1, closed ? -1 : undefined);
  if (!inner.includes('\\')) return inner;
  return unescapeJson(inner);
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Like JSON, but an escape that JSON does not know (as in the path C:\Users) is kept as it is. */
function unescapeJson(text: string): string {
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|(["\\/])|([bfnrt]))/g,
    (_, hex?: string, same?: string, letter = '') =>
      hex === undefined ? (same ?? ESCAPES[letter]!) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
