/**
 * The folder of this package, as a URL that ends in a slash. Code runs from src/ (tests) and from dist/ (bundled): the
 * last of those in the path is where the package's own folders begin.
 */
export function packageRoot(): URL {
  return new URL(import.meta.url.replace(/\/(?:src|dist)\/(?!.*\/(?:src|dist)\/).*$/, '/'));
}
