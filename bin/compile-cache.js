// Where Node 22.8 and newer keep compiled code for the next start.
const { lstatSync, mkdirSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

function keepCompiledCode() {
  if (!enableCompileCache) return;
  // Temporary folders of Windows are the user's own.
  const folder = process.getuid ? privateFolder(tmpdir()) : undefined;
  if (folder !== null) enableCompileCache(folder);
}

/**
 * A folder that only this user can enter. What is in it is run, and Node's own choice is one folder for all users: another
 * one may have made it first. Null: there is none, and starts take a little longer.
 */
function privateFolder(parent) {
  const folder = join(parent, `whyslow-cache-${process.getuid()}`);
  try {
    if (!lstatSync(folder, { throwIfNoEntry: false })) mkdirSync(folder, { mode: 0o700 });
    const stats = lstatSync(folder);
    const isPrivate = stats.isDirectory() && (stats.mode & 0o077) === 0 && stats.uid === process.getuid();
    return isPrivate ? folder : null;
  } catch {
    return null;
  }
}

module.exports = { keepCompiledCode, privateFolder };
