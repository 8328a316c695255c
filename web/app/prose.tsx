/** Text with `commands` in backticks set as code. */
export function Prose({ text }: { text: string }) {
  const parts = text.split('`');
  // An odd number of marks: they are part of the text.
  if (parts.length % 2 === 0) return <>{text}</>;
  return <>{parts.map((part, i) => (i % 2 === 1 ? <code key={`${i} ${part}`}>{part}</code> : part))}</>;
}
