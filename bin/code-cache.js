// Loads a program from one file, with the code that V8 compiled when dist/ was built (scripts/code-cache.mjs, with the Node
// that runs it here): loading takes less time, and functions need not be compiled when they first run. V8 refuses code that
// was compiled with other flags, and compiles as ever.
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname } = require('node:path');
const { Script } = require('node:vm');
const { crc32 } = require('node:zlib');

/** Loading these takes 5 ms, and few commands call them. */
const LATE = new Set(['node:child_process', 'node:crypto']);
const CHECKSUM_BYTES = 4;

/** What the program exports. Null: it is not there, or no code that was compiled from it. */
function loadProgram(file, cache) {
  let source;
  let code;
  try {
    source = readFileSync(file);
    code = unsealed(source, readFileSync(cache));
  } catch {
    return null;
  }
  return code && runScript(scriptOf(file, source, code), file);
}

const scriptOf = (filename, source, cachedData) => new Script(source.latin1Slice(), { filename, cachedData });

/** The script is one function, with the parameters that Node gives to a module. */
function runScript(script, file) {
  const requireNow = createRequire(file);
  const require = (id) =>
    LATE.has(id) ? new Proxy({}, { get: (_, name) => requireNow(id)[name] }) : requireNow(id);
  const module = { exports: {} };
  script.runInThisContext()(module.exports, require, module, file, dirname(file));
  return module.exports;
}

/** V8 compares only the length of the source, and trusts the bytes of the code. Another Node has its own way to keep code. */
const checksum = (source, code) => crc32(code, crc32(source, crc32(process.version)));

function sealed(source, code) {
  const end = Buffer.alloc(CHECKSUM_BYTES);
  end.writeUInt32LE(checksum(source, code));
  return Buffer.concat([code, end]);
}

function unsealed(source, cache) {
  const code = cache.subarray(0, -CHECKSUM_BYTES);
  return checksum(source, code) === cache.readUInt32LE(code.length) ? code : null;
}

module.exports = { loadProgram, runScript, scriptOf, sealed, unsealed };
