/**
 * Recordings hold stacks, source lines and command lines. Only their owner reads them, or with WHYSLOW_SHARE=1 (`--share`) the
 * owner's group, too. Python does the same (whyslow_capture/own_files.py).
 */
export const ownModes = (env: { readonly WHYSLOW_SHARE?: string | undefined }) =>
  env.WHYSLOW_SHARE === '1' ? { folder: 0o750, file: 0o640 } : { folder: 0o700, file: 0o600 };
