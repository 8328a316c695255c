/**
 * The folder of this package, as a URL that ends in a slash. Code runs from src/ (tests) or dist/ (bundled): the package
 * folder holds the last of these in the path.
 */
export function packageRoot(): URL {
  return new URL(import.meta.url.replace(/\/(?:src|dist)\/(?!.*\/(?:src|dist)\/).*$/, '/'));
}
