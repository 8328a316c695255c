import { describe, expect, it } from 'vitest';
import { row } from '../../../test/helpers/events.js';
import { eventsReader } from './descriptor.js';

const sniff = (text: string): boolean => eventsReader.sniff(Buffer.from(text));
const EVENT = '{"name":"x","ph":"X","ts":1,"dur":2,"pid":0,"tid":0}';

describe('sniff', () => {
  it.each([
    ['a record', row('a', 1)],
    ['records', `${row('a', 1)}\n${row('b', 1)}\n`],
    ['a record and a cut one', `${row('a', 1)}\n{"na`],
    ['any order of keys', '{"duration_ms":1,"rank":0,"name":"a","step":1}\n'],
    ['a duration of NaN', row('a', 1, 'NaN')],
    ['a header', '{"whyslow": 1, "run": "x"}\n'],
    ['a header longer than the head', `{"whyslow": 1, "anchors": [${'1, '.repeat(1000)}`],
    ['BOM, CRLF and blank lines', `\ufeff\r\n\r\n${row('a', 1)}\r\n`],
    ['NUL padding', `${'\0'.repeat(4096)}${row('a', 1)}\n`],
    ['five bad lines', `${'garbage\n'.repeat(5)}${row('a', 1)}\n`],
  ])('takes %s', (_, text) => expect(sniff(text)).toBe(true));

  it.each([
    ['nothing', ''],
    ['six bad lines', `${'garbage\n'.repeat(6)}${row('a', 1)}\n`],
    ['a Chrome trace as one array', `[${EVENT}]`],
    ['a Chrome trace as one object', `{"traceEvents":[${EVENT}]}`],
    ['the same with a field of ours', `{"whyslow":1,"traceEvents":[${EVENT}]}`],
    ['events of a Chrome trace as lines', `${EVENT}\n${EVENT}\n`],
    ['an event with a field of ours', `[\n${EVENT.replace('"ts"', '"duration_ms":1,"ts"')}\n]`],
    [
      'a Kineto head',
      '{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {\n      "id": 0, "name": "NVIDIA H200"\n',
    ],
    ['a cut one-line trace', `{"schemaVersion":1,"traceEvents":[${EVENT},{"name":"duration_ms"`],
    ['records in an array', `[${row('a', 1)}]`],
    ['other JSON lines', '{"name":"a","loss":1}\n{"name":"a","duration_ms":1}\n'],
    ['gzip', '\x1f\x8b\x08\0\0'],
  ])('leaves %s', (_, text) => expect(sniff(text)).toBe(false));
});
