/**
 * Hides what looks like a secret in a command line or an address before it is recorded or shown: values whose name says so,
 * passwords in addresses, signatures of presigned ones, and keys that their form gives away. Python has the same rules
 * (whyslow_capture/redact.py), and one table tests both.
 */

const HIDDEN = '***';

/** The end of a name that says: what follows is secret. In models a token is no secret: `--pad-token`, `--max-tokens`. */
const NAME =
  '(?:token|passwd|password|passphrase|secret|api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key|credentials?|signature)';
const HARMLESS =
  /(?:^|[-_.])(?:pad|eos|bos|sep|cls|unk|mask|special|image|stop|end|start|max|min|per|num|n|of)[-_.]?token$/i;
/** A name that ends in a secret word. Bounded: names are short, and text may be anything. */
const NAMED = `(?<![A-Za-z0-9])((?:[A-Za-z0-9]{1,40}[-_.]){0,8}${NAME})`;
const ASSIGNED = new RegExp(`${NAMED}(["']?[=:][ ]?["']?|[ ]=[ ]["']?)([^\\s"'&,;)]+)`, 'gi');
const AFTER_FLAG = new RegExp(`(--?)${NAMED}([ ]+)(?!-)([^\\s"'&,;)]+)`, 'gi');
const FLAG = new RegExp(`^--?${NAMED}$`, 'i');
/** Of a shared address: who asks and what proves it. */
const IN_QUERY =
  /([?&](?:x-amz-(?:credential|security-token|signature)|x-goog-(?:credential|signature)|sig|key|code)=)[^&#\s"']+/gi;
const LOGIN = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)([^/?#@\s"':]{0,200})(:[^/?#@\s"']{0,500})?@/gi;
const BEARER = /\b(Bearer|Basic)([ ]+)[\w.~+/=-]{8,}/g;
const KNOWN_FORMS =
  /\b(?:hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{5,}\.[\w-]{5,})/g;

/** A text without what looks like a secret. */
export const withoutSecrets = (text: string): string =>
  text
    .replace(LOGIN, (_, scheme: string, user: string, password?: string) =>
      password === undefined ? `${scheme}${HIDDEN}@` : `${scheme}${user}:${HIDDEN}@`,
    )
    .replace(IN_QUERY, `$1${HIDDEN}`)
    .replace(BEARER, `$1$2${HIDDEN}`)
    .replace(ASSIGNED, (whole, name: string, sign: string) =>
      HARMLESS.test(name) ? whole : `${name}${sign}${HIDDEN}`,
    )
    .replace(AFTER_FLAG, (whole, dashes: string, name: string, space: string) =>
      HARMLESS.test(name) ? whole : `${dashes}${name}${space}${HIDDEN}`,
    )
    .replace(KNOWN_FORMS, HIDDEN);

/** The words of a command line: also the word after a flag whose name says that it is secret. */
export const commandWithoutSecrets = (words: readonly string[]): string[] =>
  words.map((word, i) => (isFlag(words[i - 1]) && !word.startsWith('-') ? HIDDEN : withoutSecrets(word)));

const isFlag = (word: string | undefined): boolean =>
  word !== undefined && FLAG.test(word) && !HARMLESS.test(word);
