import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { InputError } from '../../base/input-error.js';
import { get, type Headers, textOf } from './http.js';

/** Keys of an AWS account, and where they were found, in words. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  readonly from: string;
  /** ms since 1970; null: they do not expire. */
  readonly expires: number | null;
}

/** Keys in the order in which the AWS tools look for them. Null: there are none, so requests go unsigned. */
export async function findKeys(env: Variables, profile: AwsProfile): Promise<AwsKeys | null> {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env;
  if (id && secret) return keys(id, secret, token, 'AWS_ACCESS_KEY_ID');
  const [ownId, ownSecret] = [profile.get('aws_access_key_id'), profile.get('aws_secret_access_key')];
  if (ownId && ownSecret && !profile.get('role_arn'))
    return keys(ownId, ownSecret, profile.get('aws_session_token'), `the AWS profile ${profile.name}`);
  if (needsTool(env, profile)) return fromTool(env, profile);
  return (await fromContainer(env)) ?? (await fromMachine(env));
}

const keys = (
  accessKeyId: string,
  secretAccessKey: string,
  sessionToken: string | undefined,
  from: string,
  expires: number | null = null,
): AwsKeys => ({ accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined, from, expires });

/** Roles, single sign-on and credential processes have protocols of their own, which the AWS CLI knows. */
const needsTool = (env: Variables, profile: AwsProfile): boolean =>
  Boolean(env.AWS_WEB_IDENTITY_TOKEN_FILE) ||
  [
    'role_arn',
    'sso_session',
    'sso_start_url',
    'credential_process',
    'web_identity_token_file',
    'login_session',
  ].some((key) => profile.get(key));

async function fromTool(env: Variables, { name }: AwsProfile): Promise<AwsKeys> {
  const named = name === 'default' ? [] : ['--profile', name];
  const args = ['configure', 'export-credentials', '--format', 'process', ...named];
  try {
    const { stdout } = await promisify(execFile)('aws', args, {
      env: env as NodeJS.ProcessEnv,
      timeout: 60_000,
    });
    const made = keysFrom(stdout, `the AWS profile ${name}`);
    if (made) return made;
  } catch (error) {
    // Its output may hold secrets, so it is not shown.
    if ((error as { code?: unknown }).code === 'ENOENT')
      throw new InputError(
        `the AWS profile ${name} logs in with a role or single sign-on, which needs the AWS CLI (aws) here; ` +
          'or set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN',
      );
  }
  throw new InputError(
    `\`aws configure export-credentials\` gave no keys for the profile ${name}; try \`aws sso login\``,
  );
}

/** What the AWS CLI, containers and machines answer. Null: not that. */
function keysFrom(json: string, from: string): AwsKeys | null {
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  try {
    const { AccessKeyId, SecretAccessKey, SessionToken, Token, Expiration } = JSON.parse(json) as Record<
      string,
      unknown
    >;
    if (!isText(AccessKeyId) || !isText(SecretAccessKey)) return null;
    const token = isText(SessionToken) ? SessionToken : isText(Token) ? Token : undefined;
    const expires = isText(Expiration) ? Date.parse(Expiration) : Number.NaN;
    return keys(AccessKeyId, SecretAccessKey, token, from, Number.isNaN(expires) ? null : expires);
  } catch {
    return null;
  }
}

const CONTAINER_HOST = 'http://169.254.170.2';
/** The role's secret goes to these hosts only, unless the connection is encrypted. */
const LOCAL_HOSTS =
  /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|169\.254\.170\.2|169\.254\.170\.23|\[fd00:ec2::23\])$/;

async function fromContainer(env: Variables): Promise<AwsKeys | null> {
  const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI;
  const address = relative ? CONTAINER_HOST + relative : env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  if (!address || !URL.canParse(address)) return null;
  const url = new URL(address);
  if (url.protocol !== 'https:' && !LOCAL_HOSTS.test(url.hostname)) return null;
  const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  const token = file ? readFileSync(file, 'utf8').trim() : env.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  return keysFrom(
    await answerOf(url, token ? { authorization: token } : {}, 5000),
    'the role of this container',
  );
}

const MACHINE = 'http://169.254.169.254/latest';

/** The role of an EC2 machine. Elsewhere nobody answers, which takes a second at most. */
async function fromMachine(env: Variables): Promise<AwsKeys | null> {
  if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') return null;
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' };
  const token = await answerOf(new URL(`${MACHINE}/api/token`), ttl, 1000, 'PUT');
  if (token === '') return null;
  const headers = { 'x-aws-ec2-metadata-token': token };
  const roles = `${MACHINE}/meta-data/iam/security-credentials/`;
  const role = (await answerOf(new URL(roles), headers, 1000)).split('\n', 1)[0]!.trim();
  if (!/^[\w+=,.@-]+$/.test(role)) return null;
  return keysFrom(await answerOf(new URL(roles + role), headers, 1000), 'the role of this machine');
}

/** Empty: no answer. */
async function answerOf(url: URL, headers: Headers, timeoutMs: number, method = 'GET'): Promise<string> {
  try {
    const answer = await get(url, headers, timeoutMs, method);
    const text = await textOf(answer, 1 << 16);
    return answer.status === 200 ? text : '';
  } catch {
    return '';
  }
}

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
