"""Imports what jobs import, waits for bench/whole-jobs.py to let it go, then runs the script: python gated.py SCRIPT …"""

import contextlib
import os
import runpy
import sys
import time
from pathlib import Path

import torch  # noqa: F401

with contextlib.suppress(ImportError):
    if "trainer" in sys.argv:
        import transformers.trainer  # noqa: F401
    if any(name.startswith("pl_") for name in sys.argv):
        import pytorch_lightning  # noqa: F401
    if "gcn" in sys.argv:
        import torch_geometric.nn  # noqa: F401

gate = Path(os.environ["WHYSLOW_BENCH_GATE"])
gate.with_suffix(".ready").touch()
while not gate.exists():
    time.sleep(0.005)
sys.argv = sys.argv[1:]
sys.path[0] = str(Path(sys.argv[0]).parent)
runpy.run_path(sys.argv[0], run_name="__main__")
