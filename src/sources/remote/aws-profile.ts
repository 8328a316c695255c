import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export type Variables = Readonly<Record<string, string | undefined>>;
type Section = ReadonlyMap<string, string>;

/** What the files of the AWS tools say about the profile in use. */
export interface AwsProfile {
  readonly name: string;
  get(key: string): string | undefined;
  /** Of the S3 service in the section that `services` names. */
  readonly endpoint: string | undefined;
}

export function readProfile(env: Variables): AwsProfile {
  const name = env.AWS_PROFILE || env.AWS_DEFAULT_PROFILE || 'default';
  const folder = join(homedir(), '.aws');
  const credentials = sectionsIn(env.AWS_SHARED_CREDENTIALS_FILE || join(folder, 'credentials'));
  const config = sectionsIn(env.AWS_CONFIG_FILE || join(folder, 'config'));
  const own = config.get(name === 'default' ? 'default' : `profile ${name}`);
  const secret = credentials.get(name);
  const get = (key: string) => secret?.get(key) ?? own?.get(key);
  const services = config.get(`services ${get('services') ?? ''}`);
  return { name, get, endpoint: services?.get('s3.endpoint_url') ?? get('endpoint_url') };
}

/** Sections of an INI file. A key inside an indented block is `block.key`. A file that is missing is empty. */
export function sectionsOf(text: string): ReadonlyMap<string, Section> {
  const sections = new Map<string, Map<string, string>>();
  let section = new Map<string, string>();
  let block = '';
  for (const line of text.split(/\r?\n/)) {
    const [, title] = /^\[\s*([^\]]+?)\s*\]/.exec(line) ?? [];
    const [, indent = '', key, value = ''] = /^(\s*)([\w.-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (title !== undefined) {
      section = sections.get(title) ?? new Map<string, string>();
      sections.set(title.replace(/\s+/g, ' '), section);
      block = '';
    } else if (key !== undefined && /^\s*[#;]/.test(line) === false) {
      if (indent === '') block = value === '' ? key : '';
      section.set(indent !== '' && block !== '' ? `${block}.${key}` : key, value);
    }
  }
  return sections;
}

function sectionsIn(file: string): ReadonlyMap<string, Section> {
  try {
    return sectionsOf(readFileSync(file, 'utf8'));
  } catch {
    return new Map();
  }
}
