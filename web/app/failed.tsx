/** `command`: what writes such a page. */
export function Failed({ why, command }: { readonly why: string; readonly command: string }) {
  return (
    <main class="failed">
      <h1>The page could not be read</h1>
      <p>{why}</p>
      <p>If the file was cut off while it was copied, write it again with {command}.</p>
    </main>
  );
}
