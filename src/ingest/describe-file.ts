/** Files of other tools, by their endings: what they are, and what to do instead. */
const BY_ENDING: readonly (readonly [ending: RegExp, text: string])[] = [
  [
    /\.(?:nsys-rep|qdrep|qdstrm)$/i,
    'it is a recording of Nsight Systems: export it (`nsys export --type sqlite FILE`) and pass the .sqlite file',
  ],
  [/\.ncu-rep$/i, 'it is a report of Nsight Compute: `ncu --import FILE` shows it'],
  [/\.xplane\.pb$/i, 'it is a profile of XLA, not of PyTorch'],
];

/** By their first bytes. */
const BY_CONTENT: readonly (readonly [test: (head: Uint8Array, text: string) => boolean, text: string])[] = [
  [(head) => head.length === 0, 'it is empty'],
  [
    (_, text) => /^\s*<(?:!doctype|html|\?xml)/i.test(text),
    'it is a web page (HTML), perhaps a saved login page',
  ],
  [(_, text) => /^version https:\/\/git-lfs/.test(text), 'it is a Git LFS pointer: run `git lfs pull`'],
  [
    (head, text) => isPickle(head) && /segments|device_traces/.test(text),
    'it is a memory snapshot of torch, which shows what holds memory, not time: open it at pytorch.org/memory_viz',
  ],
  [isPickle, 'it is a Python pickle, which can run any code when it is read'],
  [
    (_, text) => /^\s*-{8,}[ -]*\n[^\n]*\bSelf (?:CPU|CUDA)/.test(text),
    'it is a table of key_averages(): pass the trace itself, written with export_chrome_trace("trace.json.gz")',
  ],
  [isBinary, 'it is binary'],
];

/** What a file is that no reader knows: `it is empty`. For error messages. */
export function describeFile(head: Uint8Array, path: string): string {
  const text = Buffer.from(head).toString('utf8');
  const known =
    BY_ENDING.find(([ending]) => ending.test(path)) ?? BY_CONTENT.find(([test]) => test(head, text));
  if (known) return known[1];
  const begin = (text.trimStart().split(/[\r\n]/, 1)[0] ?? '').slice(0, 60);
  return `it begins with ${begin.includes('"') ? begin : `"${begin}"`}`;
}

/** Protocols 2 to 5 begin with these bytes. */
function isPickle(head: Uint8Array): boolean {
  return head[0] === 0x80 && head[1]! >= 2 && head[1]! <= 5;
}

function isBinary(head: Uint8Array): boolean {
  const control = head.reduce((n, c) => n + Number(c < 9 || (c > 13 && c < 32) || c === 127), 0);
  return control > head.length / 20;
}
