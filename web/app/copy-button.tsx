import { useSignal } from '@preact/signals';

export function CopyButton({ text }: { text: string }) {
  const state = useSignal<'Copy' | 'Copied' | 'Select and copy it by hand'>('Copy');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      state.value = 'Copied';
    } catch {
      // Browsers refuse where the page was opened from a disk without permission.
      state.value = 'Select and copy it by hand';
    }
    setTimeout(() => {
      state.value = 'Copy';
    }, 2000);
  };
  return (
    <button type="button" class="copy" onClick={copy} aria-live="polite">
      {state}
    </button>
  );
}
