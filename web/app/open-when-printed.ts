/** A printed page has everything on it. */
export function openWhenPrinted(): void {
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details')) details.open = true;
  });
}
