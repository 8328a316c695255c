import { schemeOf } from './address.js';
import { GcsStore } from './gcs-store.js';
import { S3Store } from './s3-store.js';
import type { Store } from './store.js';
import { webStore } from './web-store.js';

/** What decides who logs in where. Keys are looked for once, as long as these stay the same. */
const SETTINGS = /^(?:AWS_|GOOGLE_|CLOUDSDK_|STORAGE_EMULATOR_HOST$|HOME$)/;

class Stores {
  #settings = '';
  #s3 = new S3Store({});
  #gcs = new GcsStore({});

  of(path: string): Store {
    const settings = JSON.stringify(Object.entries(process.env).filter(([name]) => SETTINGS.test(name)));
    if (settings !== this.#settings) {
      this.#settings = settings;
      this.#s3 = new S3Store({ ...process.env });
      this.#gcs = new GcsStore({ ...process.env });
    }
    const scheme = schemeOf(path);
    return scheme === 's3' ? this.#s3 : scheme === 'gs' ? this.#gcs : webStore;
  }
}

/** One for each thread: keys and tokens are asked for once. */
const stores = new Stores();

export const storeOf = (path: string): Store => stores.of(path);
