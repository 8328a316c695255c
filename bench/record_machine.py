"""
Records a job as `whyslow triage --out` does, on a machine without Node: /proc and nvidia-smi, as JSON lines.

    python bench/record_machine.py --pid 4711 --seconds 12 --out samples.jsonl
    whyslow triage --replay samples.jsonl          # elsewhere

The format is that of src/machine/recording-file.ts. Cgroups and pressure are left out: they may be null.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

TICKS, EVERY = 100.0, 0.25
VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
LIMITS = "--query-gpu=index,name,clocks.max.sm,power.limit"


def text(path: str) -> str:
    try:
        return Path(path).read_text("latin1")
    except OSError:
        return ""


def stat(path: str) -> list[str] | None:
    """Name, then the fields after it."""
    line = text(path)
    close = line.rfind(")")
    return [line[line.find("(") + 1 : close], *line[close + 2 :].split()] if close > 0 else None


def field(lines: str, name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d+)", lines, re.MULTILINE)
    return int(found[1]) if found else None


def tree(root: int) -> list[int]:
    parents = {int(p): fields for p in os.listdir("/proc") if p.isdigit() and (fields := stat(f"/proc/{p}/stat"))}
    found = [root]
    for pid in found:
        found += [child for child, fields in parents.items() if int(fields[2]) == pid]
    return [pid for pid in found if pid in parents]


def describe(pid: int) -> dict:
    opened = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            opened.append(os.readlink(fd))
    torch = re.search(r"(/.*)/torch/lib/libtorch[^/\n]*\.so", text(f"/proc/{pid}/maps"))
    version = re.search(r"__version__ = ['\"]([\w.+-]+)", text(f"{torch[1]}/torch/version.py")) if torch else None
    environment = dict(e.split("=", 1) for e in text(f"/proc/{pid}/environ").split("\0") if "=" in e)
    return {
        "pid": pid,
        "parent": int((stat(f"/proc/{pid}/stat") or [""] * 3)[2] or 0),
        "command": text(f"/proc/{pid}/cmdline").replace("\0", " ").strip()[:500],
        "torch": torch is not None,
        "torch_version": version[1] if version else None,
        "gpu": any(re.match(r"/dev/(nvidia\d|nvidia-uvm|kfd)", target) for target in opened),
        "environment": {name: environment[name] for name in VARIABLES if name in environment},
    }


def thread(pid: int, tid: int) -> dict | None:
    fields = stat(f"/proc/{pid}/task/{tid}/stat")
    if fields is None:
        return None
    ran = text(f"/proc/{pid}/task/{tid}/schedstat").split()
    return {
        "id": tid,
        "name": fields[0],
        "state": fields[1],
        "cpu": int(ran[0]) / 1e9 if ran else (int(fields[12]) + int(fields[13])) / TICKS,
        "delayed": int(ran[1]) / 1e9 if ran else None,
    }


def sample_process(pid: int) -> dict | None:
    fields = stat(f"/proc/{pid}/stat")
    try:
        tids = sorted((int(t) for t in os.listdir(f"/proc/{pid}/task")), key=lambda t: (t != pid, t))
    except OSError:
        return None
    if fields is None:
        return None
    io, status, wait = text(f"/proc/{pid}/io"), text(f"/proc/{pid}/status"), text(f"/proc/{pid}/wchan")
    return {
        "pid": pid,
        "read_chars": field(io, "rchar"),
        "read_bytes": field(io, "read_bytes"),
        "major_faults": int(fields[10]),
        "swapped_bytes": (field(status, "VmSwap") or 0) * 1024,
        "voluntary_switches": field(status, "voluntary_ctxt_switches"),
        "involuntary_switches": field(status, "nonvoluntary_ctxt_switches"),
        "waits_in": wait if wait not in ("", "0") else None,
        "threads": [t for tid in tids[:256] if (t := thread(pid, tid))],
    }


def received() -> int:
    rows = re.findall(r"^\s*([^\s:]+):\s*(\d+)", text("/proc/net/dev"), re.MULTILINE)
    return sum(int(count) for name, count in rows if name != "lo")


def record(pid: int, seconds: float, out: Path) -> None:
    has_gpu = shutil.which("nvidia-smi") is not None
    limits = monitor = ""
    if has_gpu:
        limits = subprocess.run(["nvidia-smi", LIMITS, "--format=csv"], capture_output=True, text=True).stdout
        monitor = subprocess.Popen(
            ["nvidia-smi", "dmon", "-s", "pucvmet", "-d", "1", "-c", str(int(seconds)), "-o", "DT"],
            stdout=subprocess.PIPE,
            text=True,
        )
    known: dict[int, dict] = {}
    samples = []
    start = time.monotonic()
    while (now := time.monotonic() - start) < seconds:
        pids = tree(pid)
        for own in pids:
            if not known.get(own, {}).get("torch"):
                known[own] = describe(own)
        processes = [p for own in pids if (p := sample_process(own))]
        samples.append({"seconds": now, "processes": processes, "counters": {"received": received()}})
        time.sleep(EVERY)
    machine = {
        "host": socket.gethostname(),
        "cores": len(os.sched_getaffinity(pid)),
        "quota": None,
        "pid": pid,
        "gpus": None,
        "no_gpu": None if has_gpu else "there is no nvidia-smi on PATH",
        "others": [],
    }
    lines = [{"whyslow": 1, "kind": "proc-samples", "machine": machine}]
    lines += [{"process": p} for p in known.values()] + [{"sample": s} for s in samples]
    if monitor:
        lines.append({"gpu_text": limits + monitor.communicate(timeout=10)[0]})
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    record(arguments.pid, arguments.seconds, arguments.out)
