/** Code of Python itself and of installed packages, by its path. */
const INSTALLED =
  /(?:^|[\\/])(?:site-packages|dist-packages|whyslow_(?:capture|dropins|training|trials))[\\/]|[\\/]lib(?:64)?[\\/]python\d|^<|^$/;

/**
 * Profilers shorten paths to what follows the folder of packages, so a path without folders or with these first words is of a
 * library. A job's module of the same name is taken for it: rare, and it only costs the name of a line.
 */
const LIBRARIES = new Set(
  `torch torchvision torchaudio torchdata numpy scipy pandas pyarrow PIL cv2 albumentations transformers accelerate datasets
  lightning pytorch_lightning deepspeed megatron apex xformers flash_attn triton tokenizers huggingface_hub fsspec s3fs boto3
  botocore requests urllib3 aiohttp wandb tensorboard tqdm click ray jax sklearn joblib h5py zarr webdataset decord ffmpeg
  abc ast asyncio base64 bisect codecs collections concurrent contextlib copy copyreg csv ctypes dataclasses datetime email
  encodings enum functools gc glob gzip hashlib heapq http importlib inspect io json linecache logging lzma marshal
  multiprocessing ntpath operator os pathlib pickle pickletools pkgutil platform posixpath pprint queue random re runpy
  selectors shutil signal site socket socketserver sqlite3 ssl statistics string struct subprocess sysconfig tarfile tempfile
  textwrap threading timeit tokenize traceback types typing typing_extensions unittest urllib uuid warnings weakref xml
  zipfile zipimport`.split(/\s+/),
);

/** Whether a file of a stack frame is of the job itself. */
export function isOwnFile(file: string): boolean {
  if (INSTALLED.test(file)) return false;
  // A full path that is not that of a package is the job's, whatever its name.
  if (/^(?:[\\/]|[a-z]:)/i.test(file)) return true;
  return !LIBRARIES.has(file.split(/[\\/]/, 1)[0]!.replace(/\.py$/, ''));
}
