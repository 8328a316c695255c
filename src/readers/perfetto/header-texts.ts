import { ANNOTATION, TRACK_EVENT } from './fields.js';
import { MessageReader } from './wire.js';

/** A field of the header is cut there; the process groups of a job of 10,000 ranks take a few MB. */
const MAX_FIELD = 8 << 20;
const MAX_FIELDS = 1000;

/**
 * What Kineto's own builder keeps of a trace as a whole: instants with one annotation, whose value is JSON text. The traces of
 * `export_chrome_trace` have nothing of the kind.
 */
export class HeaderTexts {
  readonly fields = new Map<string, string>();
  readonly #event = new MessageReader();
  readonly #annotation = new MessageReader();

  /** An instant event. */
  take(name: string, buffer: Uint8Array, from: number, to: number): void {
    if (name !== 'trace_metadata' && name !== 'device_properties') return;
    const event = this.#event.open(buffer, from, to);
    while (event.next()) if (event.key === TRACK_EVENT.annotation) this.#field(name, event);
  }

  #field(name: string, event: MessageReader): void {
    const annotation = this.#annotation.openIn(event);
    let key = '';
    let text = '';
    while (annotation.next()) {
      if (annotation.key === ANNOTATION.name) key = textOf(annotation);
      else if (annotation.key === ANNOTATION.text) text = textOf(annotation);
    }
    if (this.fields.size >= MAX_FIELDS) return;
    // A list without its brackets.
    if (name === 'device_properties')
      this.fields.set('deviceProperties', text.startsWith('[') ? text : `[${text}]`);
    else this.fields.set(key, text);
  }
}

const textOf = ({ buffer, from, to }: MessageReader): string =>
  Buffer.from(buffer.subarray(from, Math.min(to, from + MAX_FIELD))).toString('utf8');
