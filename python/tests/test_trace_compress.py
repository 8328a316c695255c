"""Traces are ordinary gzip files with one member, which every reader reads."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest
from trace_support import make_tier, steps_in, train

from whyslow_capture.trace import export


def text(size: int) -> bytes:
    return b"".join(b'{"ph": "X", "name": "op %d"},\n' % (n * n % 997) for n in range(size // 25 + 1))[:size]


def one_member(data: bytes) -> bytes:
    """The content of the only member. Browsers and many tools read no further than that."""
    assert data[:4] == b"\x1f\x8b\x08\x00", "no extra fields in the header"
    engine = zlib.decompressobj(31)
    content = engine.decompress(data)
    assert engine.eof and engine.unused_data == b""
    return content


def test_a_trace_of_the_profiler_is_one_gzip_member(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=10, warmup=1, active=2)
    train(tier, range(11))
    tier.close()
    (path,) = tmp_path.rglob("*.gz")
    content = one_member(path.read_bytes())
    assert steps_in(path) == [8, 9]
    gnu_gzip = shutil.which("gzip")
    assert gnu_gzip is not None
    assert subprocess.run([gnu_gzip, "-dc", path], capture_output=True, check=True).stdout == content


@pytest.mark.parametrize("size", [0, 1, export.PIECE, export.PIECE + 1, 10_000_000])
def test_a_trace_of_any_size_is_compressed_whole(tmp_path: Path, size: int) -> None:
    raw, target = tmp_path / "raw", tmp_path / "target"
    raw.write_bytes(text(size))
    assert export.compress(raw, target, None) == target.stat().st_size
    data = target.read_bytes()
    assert one_member(data) == gzip.decompress(data) == text(size)
