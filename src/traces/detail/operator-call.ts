import { bytesOfType } from '../../facts/collective-names.js';

/** A call of an operator as `record_shapes` writes it. Parsed JSON of the file, of any form. */
export interface RecordedCall {
  readonly dims: unknown;
  readonly types: unknown;
  /** Arguments that are no tensors, as texts: `["", "[2, 2]", "False"]`. */
  readonly values: unknown;
}

export interface Tensor {
  readonly dims: readonly number[];
  readonly elements: number;
  /** Bytes of an element. */
  readonly size: number;
  readonly type: string;
}

/** The arguments of a call, by position. */
export class OperatorCall {
  readonly #dims: readonly unknown[];
  readonly #types: readonly unknown[];
  readonly #values: readonly unknown[];

  constructor({ dims, types, values }: RecordedCall) {
    [this.#dims, this.#types, this.#values] = [listOf(dims), listOf(types), listOf(values)];
  }

  tensor(at: number): Tensor | null {
    const dims = sizesOf(this.#dims[at]);
    const type = String(this.#types[at] ?? '');
    const size = bytesOfType(type);
    return dims && size > 0 ? { dims, elements: product(dims), size, type } : null;
  }

  /** Tensors that are arguments by themselves. */
  get tensors(): Tensor[] {
    return this.#dims.flatMap((_, at) => this.tensor(at) ?? []);
  }

  /** Elements of each argument that is a list of tensors. Their type is not recorded. */
  get lists(): number[] {
    return this.#dims.flatMap((list, at) => (this.#types[at] === 'TensorList' ? elementsOf(list) : []));
  }

  /** `[2, 2]`; null: not recorded. */
  numbers(at: number): number[] | null {
    try {
      return sizesOf(JSON.parse(String(this.#values[at])));
    } catch {
      return null;
    }
  }

  /** Null: not recorded. */
  number(at: number): number | null {
    const value = String(this.#values[at] ?? '');
    return /^\d{1,15}$/.test(value) ? Number(value) : null;
  }

  /** Null: not recorded. */
  flag(at: number): boolean | null {
    return this.flags(at)[0] ?? null;
  }

  /** `[True, False]`. */
  flags(at: number): boolean[] {
    const text = String(this.#values[at] ?? '');
    return (text.match(/True|False/g) ?? []).map((flag) => flag === 'True');
  }
}

export const product = (factors: readonly number[]): number => factors.reduce((all, n) => all * n, 1);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const elementsOf = (list: unknown): number =>
  listOf(list).reduce((sum: number, dims) => sum + product(sizesOf(dims) ?? [0]), 0);

/** No tensor of PyTorch has more dimensions. */
const MOST_DIMENSIONS = 64;

function sizesOf(value: unknown): number[] | null {
  if (!Array.isArray(value) || value.length > MOST_DIMENSIONS) return null;
  return value.every((n) => Number.isSafeInteger(n) && n >= 0) ? (value as number[]) : null;
}
