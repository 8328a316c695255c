import { signal } from '@preact/signals';
import { quoted } from '../../src/base/printable.js';
import { type DroppedTrace, readDropped } from '../reading/read-dropped.js';

/** What becomes of a trace that was dropped. */
export type Reading =
  | { readonly is: 'reading'; readonly name: string; readonly bytes: number }
  /** `command`: what to run instead. */
  | { readonly is: 'refused'; readonly why: string; readonly command: string };

/** Takes files that are dropped or chosen, and reads them in this browser. */
export class Drop {
  readonly reading = signal<Reading | null>(null);
  /** Something is held over the page. */
  readonly isOver = signal(false);
  #current: DroppedTrace | null = null;

  constructor(readonly onTrace: (trace: DroppedTrace) => void) {}

  async take(files: readonly File[]): Promise<void> {
    const [file] = files;
    if (!file || this.reading.value?.is === 'reading') return;
    if (files.length > 1) return this.#refuse('A browser reads one trace at a time', 'FOLDER');
    this.reading.value = { is: 'reading', name: file.name, bytes: 0 };
    try {
      const trace = await readDropped(file, (bytes) => {
        this.reading.value = { is: 'reading', name: file.name, bytes };
      });
      this.#current?.close();
      this.#current = trace;
      this.reading.value = null;
      this.onTrace(trace);
    } catch (error) {
      this.#refuse(error instanceof Error ? error.message : String(error), file.name);
    }
  }

  #refuse(why: string, path: string): void {
    this.reading.value = { is: 'refused', why, command: `whyslow open ${quoted(path)}` };
  }

  /** Returns how to stop. */
  listen(): () => void {
    const over = (event: DragEvent) => {
      event.preventDefault();
      this.isOver.value = true;
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) this.isOver.value = false;
    };
    const drop = (event: DragEvent) => {
      event.preventDefault();
      this.isOver.value = false;
      void this.take([...(event.dataTransfer?.files ?? [])]);
    };
    addEventListener('dragover', over);
    addEventListener('dragleave', leave);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', drop);
    };
  }
}
