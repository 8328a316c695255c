import { ProblemLog } from '../../base/problem.js';
import type { RasCommunicator, RasRank, RasStatus } from '../../model/ras-status.js';
import { Fields } from '../common/fields.js';
import type { ReaderDescriptor, ReadModel, StreamReader } from '../common/reader.js';
import { headText } from '../common/text.js';
import { WholeFile } from '../common/whole-file.js';

interface RasRead extends ReadModel {
  /** Null: it could not be read. */
  readonly status: RasStatus | null;
}

/** `ncclras -f json`, documented since NCCL 2.28.7. The text that people read differs between versions. */
export const ncclRasReader: ReaderDescriptor<RasRead> = {
  id: 'nccl-ras',
  title: 'the status of NCCL’s RAS as JSON (`ncclras -f json`)',
  sniff: (head) => /^\s*\{\s*"nccl_version"\s*:[\s\S]*"communicators(?:_count)?"\s*:/.test(headText(head)),
  line: { one: 'status of NCCL’s RAS', many: 'statuses of NCCL’s RAS', counts: 'ranks' },
  refusesEmpty: true,
  create: () => new RasReader(),
  digest: ({ status }) => ({
    of: 'run',
    events: status ? status.communicators.reduce((sum, c) => sum + c.ranks.length, 0) : 0,
    evidence: status ? { ras: status } : {},
  }),
};

/** A rank of a communicator has about 600 bytes. */
const MAX_BYTES = 64 << 20;
const MAX_COMMUNICATORS = 65_536;
const MAX_RANKS = 1 << 18;
const MAX_KINDS = 64;

class RasReader implements StreamReader<RasRead> {
  readonly #file = new WholeFile(MAX_BYTES);
  readonly #problems = new ProblemLog();

  push(chunk: Uint8Array): void {
    this.#file.push(chunk);
  }

  finish(): RasRead {
    const object = this.#file.object();
    if (this.#file.isTooLarge) this.#problems.add('too-large', TOO_LARGE);
    else if (!object) this.#problems.add('broken-dump', BROKEN);
    const status = object && statusIn(new Fields(object, this.#problems, 'the status'));
    return { status, problems: this.#problems.list() };
  }
}

const TOO_LARGE = { message: 'The status is larger than 64 MiB.', consequence: 'It was not read.' };
const BROKEN = {
  message: 'The status is not one JSON object; it may be cut short.',
  consequence: 'Nothing in it is used.',
};

function statusIn(fields: Fields): RasStatus {
  const listed = fields.each((fields.list('communicators') ?? []).slice(0, MAX_COMMUNICATORS));
  return {
    at: fields.text('timestamp') ?? '',
    communicators: listed.map((one): RasCommunicator => {
      const all = (key: string) => one.each((one.list(key) ?? []).slice(0, MAX_RANKS));
      return {
        hash: `${one.text('hash') ?? ''} ${one.text('secondary_hash') ?? ''}`.trim(),
        size: one.count('size') ?? 0,
        ranks: [...all('ranks'), ...all('missing_ranks')].flatMap((rank) => rankIn(rank) ?? []),
      };
    }),
  };
}

function rankIn(fields: Fields): RasRank | null {
  const [rank, pid] = [fields.count('rank'), fields.count('pid')];
  if (rank === null || pid === null) return null;
  const counts = fields.inside('collective_counts');
  const kinds = Object.keys(counts?.object ?? {}).slice(0, MAX_KINDS);
  return {
    rank,
    pid,
    host: fields.text('host') ?? '',
    device: fields.count('nvml_dev') ?? fields.count('cuda_dev') ?? 0,
    launched: counts && Object.fromEntries(kinds.map((kind) => [kind, counts.count(kind) ?? 0])),
    isDead: fields.inside('status')?.flag('considered_dead') === true,
  };
}
