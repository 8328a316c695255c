/** What a pickle may cost. */
export interface PickleLimits {
  /** Estimated bytes of all values together. */
  readonly memory: number;
  /** Values if everything that is shared were written out, which is what a walk through the result visits. */
  readonly visits: number;
}

/** Lists in dicts in lists. torch's dumps and snapshots have six levels. */
const MAX_DEPTH = 64;

/** Estimated from V8's layout: a header and an entry of the memo; the store that a list gets with its first item. */
const BYTES_PER_CONTAINER = 128;
const BYTES_PER_STORE = 128;
/** Arrays double as they grow, and the stack is copied into lists. */
const BYTES_PER_ITEM = 20;
const BYTES_PER_TEXT = 40;

/** Equal texts are kept once: torch writes the same file name again for every frame. */
const MAX_SHARED_TEXT = 256;
const MAX_SHARED_TEXTS = 1 << 16;

/** Why a pickle is not read. */
export class PickleFault extends Error {
  constructor(
    readonly code: 'pickle-code' | 'pickle-too-large' | 'broken-pickle',
    message: string,
  ) {
    super(message);
  }
}

export const broken = (what: string): PickleFault =>
  new PickleFault('broken-pickle', `The pickle is broken: ${what}.`);
const tooLarge = (what: string): PickleFault => new PickleFault('pickle-too-large', `The pickle ${what}.`);

/** A list or dict, with what a walk through it costs. */
class Container {
  visits = 1;
  depth = 1;
  /** It is inside another container, so it may not change any more. That keeps a container out of itself. */
  isPlaced = false;

  constructor(readonly value: unknown[] | Record<string, unknown>) {}
}

/**
 * The stack and the memo of Python's pickle machine, for data only. Lists, tuples and sets become arrays, dicts become objects,
 * `None` becomes null. A value that the pickle refers to twice is shared.
 */
export class PickleValues {
  readonly #limits: PickleLimits;
  readonly #stack: unknown[] = [];
  /** Heights of the stack at each mark. */
  readonly #marks: number[] = [];
  readonly #memo: unknown[] = [];
  readonly #texts = new Map<string, string>();
  #memory = 0;
  #highest = 0;

  constructor(limits: PickleLimits) {
    this.#limits = limits;
  }

  push(value: unknown): void {
    if (this.#stack.push(value) <= this.#highest) return;
    this.#highest = this.#stack.length;
    this.#spend(BYTES_PER_ITEM);
  }

  pushText(text: string): void {
    const known = text.length <= MAX_SHARED_TEXT ? this.#texts.get(text) : undefined;
    if (known !== undefined) return this.push(known);
    this.#spend(BYTES_PER_TEXT + 2 * text.length);
    if (text.length <= MAX_SHARED_TEXT && this.#texts.size < MAX_SHARED_TEXTS) this.#texts.set(text, text);
    this.push(text);
  }

  pushContainer(value: unknown[] | Record<string, unknown>): void {
    this.#spend(BYTES_PER_CONTAINER);
    this.push(new Container(value));
  }

  mark(): void {
    if (this.#marks.length > 2 * MAX_DEPTH) throw tooDeep();
    this.#marks.push(this.#stack.length);
  }

  /** The values above the last mark, which goes too. */
  popToMark(): unknown[] {
    const from = this.#marks.pop();
    if (from === undefined) throw broken('a mark is missing');
    return this.#stack.splice(from);
  }

  pop(): unknown {
    this.#checkHeight(1);
    return this.#stack.pop();
  }

  popMany(count: number): unknown[] {
    this.#checkHeight(count);
    return this.#stack.splice(this.#stack.length - count);
  }

  top(): unknown {
    this.#checkHeight(1);
    return this.#stack.at(-1);
  }

  /** The list that items are appended to. */
  append(items: readonly unknown[]): void {
    const container = this.#open();
    const { value } = container;
    if (!Array.isArray(value)) throw broken('it appends to something that is not a list');
    if (value.length === 0) this.#spend(BYTES_PER_STORE);
    for (const item of items) value.push(this.#place(item, container));
  }

  /** The dict that gets the keys and values, by turns. */
  setItems(items: readonly unknown[]): void {
    const container = this.#open();
    const { value } = container;
    if (Array.isArray(value) || items.length % 2 === 1)
      throw broken('it sets items of something that is not a dict');
    for (let i = 0; i < items.length; i += 2)
      setKey(value, keyOf(items[i]), this.#place(items[i + 1], container));
  }

  memoize(index = this.#memo.length): void {
    // Picklers count from 0, old ones from 1.
    if (index > this.#memo.length + 1) throw broken('its memo has holes');
    this.#spend(BYTES_PER_ITEM);
    this.#memo[index] = this.top();
  }

  recall(index: number): void {
    const value = this.#memo[index];
    if (value === undefined) throw broken('it refers to a value that it does not have');
    this.push(value);
  }

  result(): unknown {
    const value = this.pop();
    return value instanceof Container ? value.value : value;
  }

  #open(): Container {
    const container = this.top();
    if (!(container instanceof Container))
      throw broken('it adds items to something that is neither a list nor a dict');
    if (container.isPlaced) throw broken('a list or dict changes after it was used, or contains itself');
    return container;
  }

  #place(item: unknown, into: Container): unknown {
    this.#spend(BYTES_PER_ITEM);
    if (!(item instanceof Container)) {
      into.visits++;
      return item;
    }
    if (item === into) throw broken('a list or dict contains itself');
    item.isPlaced = true;
    into.visits += item.visits;
    into.depth = Math.max(into.depth, item.depth + 1);
    if (into.depth > MAX_DEPTH) throw tooDeep();
    if (into.visits > this.#limits.visits) throw tooLarge(`has more than ${this.#limits.visits} values`);
    return item.value;
  }

  #checkHeight(count: number): void {
    if (this.#stack.length - (this.#marks.at(-1) ?? 0) < count) throw broken('a value is missing');
  }

  #spend(bytes: number): void {
    this.#memory += bytes;
    if (this.#memory > this.#limits.memory) throw this.#tooMuch();
  }

  #tooMuch(): PickleFault {
    return tooLarge(`needs more than ${Math.round(this.#limits.memory / 2 ** 20)} MiB of memory`);
  }
}

const tooDeep = () => tooLarge(`is nested more than ${MAX_DEPTH} levels deep`);

/** Keys of dicts are mostly text. torch also counts devices, streams and ranks. */
function keyOf(key: unknown): string {
  if (typeof key === 'string') return key;
  if (typeof key === 'number' || typeof key === 'boolean' || key === null) return String(key);
  throw broken('a key of a dict is neither text nor a number');
}

/** Assigning to `__proto__` would change the object instead. */
function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
