import type { ColumnMetaData, FileMetaData, SchemaElement } from 'hyparquet';
import { parquetMetadata } from 'hyparquet/src/metadata.js';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import { inflatePage } from './codecs.js';
import { pageValues, plainValues, type Values } from './page-values.js';
import { BadData, readRuns } from './runs.js';

/** Parsed Thrift takes many times its size. A footer of a few thousand row groups is smaller than this. */
const MAX_FOOTER = 8 << 20;

/** The footer; null where it cannot be read. Its statistics and key-value pairs are not used. */
export function readFooter(file: Uint8Array): FileMetaData | null {
  if (file.length < 12) return null;
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const length = view.getUint32(file.length - 8, true);
  if (length > MAX_FOOTER || length > file.length - 12) return null;
  try {
    return parquetMetadata(file.subarray(file.length - 8 - length), { geoparquet: false });
  } catch {
    // Whatever it throws is about the bytes: they are not a footer.
    return null;
  }
}

/** One column of one row group, not nested. */
interface Chunk {
  readonly meta: ColumnMetaData;
  readonly element: SchemaElement;
  readonly rows: number;
}

/**
 * Hands every value of a chunk to `take` in order of rows, null for a missing one. Throws BadData or Unsupported, or whatever
 * hyparquet throws on damaged bytes. Memory is bounded by the rows of the group and the size of a page.
 */
export function readChunk(
  file: Uint8Array,
  { meta, element, rows }: Chunk,
  take: (row: number, value: number | bigint | Uint8Array | null) => void,
): void {
  const start = Number(meta.dictionary_page_offset || meta.data_page_offset);
  const end = start + Number(meta.total_compressed_size);
  if (!(start >= 4 && end >= start && end <= file.length)) throw new BadData('position of a column');
  const pages = file.subarray(start, end);
  const reader = { view: new DataView(pages.buffer, pages.byteOffset, pages.byteLength), offset: 0 };
  let dictionary: Values | null = null;
  for (let row = 0; row < rows; ) {
    const header = deserializeTCompactProtocol(reader) as unknown as PageHeader;
    const stored = header.field_3;
    if (!(stored >= 0 && reader.offset + stored <= pages.length)) throw new BadData('size of a page');
    const bytes = pages.subarray(reader.offset, reader.offset + stored);
    reader.offset += stored;
    if (header.field_1 === DICTIONARY_PAGE) {
      const page = inflatePage(bytes, meta.codec, header.field_2);
      dictionary = plainValues(page, meta.type, header.field_7?.field_1 ?? -1);
      continue;
    }
    const page = dataPage(header, bytes, { meta, element, rows: rows - row });
    const present = page.levels === null ? page.count : page.levels.reduce((sum, level) => sum + level, 0);
    const values = pageValues(page.bytes, page.encoding, meta.type, present, dictionary);
    let next = 0;
    for (let i = 0; i < page.count; i++)
      take(row + i, page.levels === null || page.levels[i] === 1 ? values[next++]! : null);
    row += page.count;
  }
}

const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;
const DATA_PAGE_V2 = 3;

/** Fields by number, as in parquet.thrift: page type, uncompressed and compressed size, and one header by type. */
interface PageHeader {
  readonly field_1: number;
  readonly field_2: number;
  readonly field_3: number;
  /** Values, encoding. */
  readonly field_5?: { readonly field_1: number; readonly field_2: number };
  readonly field_7?: { readonly field_1: number };
  /** Values, nulls, rows, encoding, bytes of definition and repetition levels, whether compressed. */
  readonly field_8?: {
    readonly field_1: number;
    readonly field_4: number;
    readonly field_5: number;
    readonly field_6: number;
    readonly field_7?: boolean;
  };
}

interface DataPage {
  readonly count: number;
  /** 1 where there is a value; null when every row has one. */
  readonly levels: Int32Array | null;
  readonly encoding: number;
  readonly bytes: Uint8Array;
}

function dataPage(header: PageHeader, stored: Uint8Array, { meta, element, rows }: Chunk): DataPage {
  const head = header.field_1 === DATA_PAGE ? header.field_5 : header.field_8;
  const count = head?.field_1 ?? -1;
  // A page without values would loop forever; one with too many belongs to another column.
  if (head === undefined || !(count > 0 && count <= rows)) throw new BadData('number of values');
  const levels = element.repetition_type === 'OPTIONAL' ? new Int32Array(count) : null;
  if (header.field_1 === DATA_PAGE) {
    const bytes = inflatePage(stored, meta.codec, header.field_2);
    const encoding = header.field_5!.field_2;
    if (levels === null) return { count, levels, encoding, bytes };
    const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
    if (4 + length > bytes.length) throw new BadData('length of levels');
    readRuns(bytes.subarray(0, 4 + length), 4, 1, levels);
    return { count, levels, encoding, bytes: bytes.subarray(4 + length) };
  }
  if (header.field_1 !== DATA_PAGE_V2) throw new BadData('type of a page');
  const { field_4: encoding, field_5: ofLevels, field_6: repeated, field_7: compressed } = header.field_8!;
  if (repeated !== 0 || !(ofLevels >= 0 && ofLevels <= stored.length)) throw new BadData('length of levels');
  if (levels !== null) readRuns(stored.subarray(0, ofLevels), 0, 1, levels);
  const codec = compressed === false ? 'UNCOMPRESSED' : meta.codec;
  const bytes = inflatePage(stored.subarray(ofLevels), codec, header.field_2 - ofLevels);
  return { count, levels, encoding, bytes };
}
