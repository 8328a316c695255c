/**
 * From a packed trace to its verdict: `whyslow diagnose` as a whole process, in one run with two programs that only unpack the
 * file: Node's zlib, which the goal is about, and the command `gunzip` (GNU gzip), which people know.
 */
import { largeTrace } from './lib/large-trace.js';
import { argument, machineLine, median, ratio, sideBySide } from './lib/side-by-side.js';

const ROUNDS = argument('rounds', 5);
/** MB of JSON. `--mb` measures one size only. */
const SIZES = process.argv.includes('--mb') ? [argument('mb', 500)] : [60, 250, 500];
const SOURCES = ['data_io_w0', 'adam_forloop'];
/** What the project allows: times the seconds of Node's zlib, and MB for this many MB of JSON. */
const MOST_RATIO = 1.6;
const mostMb = (raw: number) => 0.15 * raw + 150;

console.log(`${machineLine()}, ${ROUNDS} rounds; "×" is the median of the ratios within each round\n`);
console.log(
  "| trace | MB of JSON | Node's zlib s | `gunzip` s | diagnose s | × Node's zlib | × in each round | × `gunzip` | CPU s of each | peak RSS MB | allowed MB |",
);
console.log('|---|---|---|---|---|---|---|---|---|---|---|');
let [isSlow, isLarge] = [false, false];
for (const name of SOURCES) {
  for (const mb of SIZES) {
    const file = await largeTrace(`zoo/fixtures/${name}/rank0.json.gz`, `.bench/${name}-${mb}.json.gz`, mb);
    const sides = await sideBySide(
      [
        { name: "Node's zlib", command: [process.execPath, 'bench/lib/gunzip-only.mjs', file] },
        { name: 'gunzip', command: ['sh', '-c', 'exec gunzip -c "$0" > /dev/null', file] },
        { name: 'diagnose', command: [process.execPath, 'bin/whyslow.js', 'diagnose', '--json', file] },
      ],
      ROUNDS,
    );
    const [zlib, gunzip, diagnose] = sides;
    const raw = Number(/bytes=(\d+)/.exec(zlib!.output)![1]) / 1e6;
    const times = ratio(diagnose!, zlib!);
    const each = diagnose!.seconds.map((s, i) => (s / zlib!.seconds[i]!).toFixed(2));
    isSlow ||= mb === Math.max(...SIZES) && times > MOST_RATIO;
    isLarge ||= diagnose!.peakMb > mostMb(raw);
    const cells = [
      name,
      raw.toFixed(0),
      ...sides.map((side) => median(side.seconds).toFixed(3)),
      times.toFixed(2),
      each.join(' '),
      ratio(diagnose!, gunzip!).toFixed(2),
      sides.map((side) => median(side.cpuSeconds).toFixed(2)).join(', '),
      diagnose!.peakMb.toFixed(0),
      mostMb(raw).toFixed(0),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
}
console.log(`\n${MOST_RATIO} × Node's zlib for the largest: ${isSlow ? 'NOT reached' : 'reached'}`);
console.log(`0.15 × JSON + 150 MB: ${isLarge ? 'NOT kept' : 'kept'}`);
