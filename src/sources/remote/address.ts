/** Addresses of files that are not on this machine. */
export type Scheme = 's3' | 'gs' | 'http';

const REMOTE = /^(s3|gs|https?):\/\//i;

export function schemeOf(path: string): Scheme | null {
  const scheme = REMOTE.exec(path)?.[1]?.toLowerCase();
  return scheme === undefined ? null : scheme === 's3' || scheme === 'gs' ? scheme : 'http';
}

export const isRemote = (path: string): boolean => REMOTE.test(path);

/** Without what may be a secret: a password, and the signature in the query of a presigned address. */
export function shownAddress(path: string): string {
  if (schemeOf(path) !== 'http') return path;
  return path.replace(/^(https?:\/\/)[^/?#]*@/i, '$1').replace(/[?#].*$/s, '');
}

/** Bucket and key of `s3://bucket/key` or `gs://bucket/key`. */
export function bucketAndKey(path: string): { readonly bucket: string; readonly key: string } {
  const [, bucket = '', key = ''] = /^\w+:\/\/([^/]*)\/?(.*)$/s.exec(path) ?? [];
  return { bucket, key };
}

/** A key as part of a URL, as AWS encodes it. */
export const encodedKey = (key: string): string =>
  key
    .split('/')
    .map((part) =>
      encodeURIComponent(part).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`),
    )
    .join('/');
