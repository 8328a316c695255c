export const dirname = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/'))) || '.';
