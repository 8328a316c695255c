"""Traces are written in blocks with an index, and remain ordinary gzip files for everybody else."""

from __future__ import annotations

import gzip
import os
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from trace_support import make_tier, steps_in, train

from whyslow_capture.own_files import OwnFile
from whyslow_capture.trace import block_gzip, compress

SMALL_BLOCK = 10_000


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_gzip, "BLOCK", SMALL_BLOCK)
    monkeypatch.setattr(compress, "BLOCK", SMALL_BLOCK)


def index_of(data: bytes) -> bytes | None:
    """The subfield of the header, or None."""
    if not data[3] & 4:
        return None
    assert data[:4] == b"\x1f\x8b\x08\x04" and data[12:14] == b"WS"
    (extra, length) = struct.unpack("<H2xH", data[10:16])
    assert extra == length + 4
    return data[16 : 16 + length]


def blocks_of(data: bytes) -> list[bytes]:
    """The content of every block, inflated without the others, and checked."""
    index = index_of(data)
    assert index is not None
    version, block, raw = struct.unpack("<IIQ", index[:16])
    assert version == 1
    at, crc, contents = 16 + len(index), 0, []
    for stored, checksum in struct.iter_unpack("<II", index[16:]):
        content = zlib.decompressobj(-15).decompress(data[at : at + stored])
        crc = zlib.crc32(content, crc)
        assert crc == checksum
        contents.append(content)
        at += stored
    assert data[at:] == struct.pack("<II", crc, raw & 0xFFFFFFFF)
    assert [len(c) for c in contents[:-1]] == [block] * (len(contents) - 1)
    assert sum(map(len, contents)) == raw and 0 < len(contents[-1]) <= block
    return contents


def text(size: int) -> bytes:
    return b"".join(b'{"ph": "X", "name": "op %d"},\n' % (n * n % 997) for n in range(size // 25 + 1))[:size]


def compressed(folder: Path, content: bytes) -> bytes:
    raw, target = folder / "raw", folder / "target"
    raw.write_bytes(content)
    assert compress.compress(raw, target, None) == target.stat().st_size
    return target.read_bytes()


@pytest.mark.usefixtures("small_blocks")
def test_a_trace_of_the_profiler_has_an_index(tmp_path: Path) -> None:
    tier = make_tier(tmp_path, period=10, warmup=1, active=2)
    train(tier, range(11))
    tier.close()
    (path,) = tmp_path.rglob("*.gz")
    data = path.read_bytes()
    contents = blocks_of(data)
    assert len(contents) > 2
    whole = b"".join(contents)
    assert gzip.decompress(data) == whole
    assert zlib.decompressobj(31).decompress(data) == whole
    assert steps_in(path) == [8, 9]
    gnu_gzip = shutil.which("gzip")
    assert gnu_gzip is not None
    assert subprocess.run([gnu_gzip, "-dc", path], capture_output=True, check=True).stdout == whole


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("size", [SMALL_BLOCK + 1, 2 * SMALL_BLOCK - 1, 2 * SMALL_BLOCK, 123_456, compress.PIECE * 2])
def test_blocks_of_any_size(tmp_path: Path, size: int) -> None:
    content = text(size)
    data = compressed(tmp_path, content)
    assert b"".join(blocks_of(data)) == gzip.decompress(data) == content


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("size", [0, 1, SMALL_BLOCK])
def test_one_block_needs_no_index(tmp_path: Path, size: int) -> None:
    data = compressed(tmp_path, text(size))
    assert index_of(data) is None
    assert gzip.decompress(data) == text(size)


def test_an_index_has_a_limit(tmp_path: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 16 + 8 * block_gzip.MOST_BLOCKS + 4 <= 0xFFFF
    monkeypatch.setattr(block_gzip, "MOST_BLOCKS", 4)
    content = text(10 * SMALL_BLOCK)
    contents = blocks_of(compressed(tmp_path, content))
    assert b"".join(contents) == content
    assert len(contents[0]) == 4 * SMALL_BLOCK


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("real", [25_000, 30_000, 45_000])
def test_a_file_of_another_size_than_expected_has_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real: int
) -> None:
    status = OwnFile.status

    def lies(file: OwnFile) -> os.stat_result:
        found = list(status(file))
        found[6] = found[6] + 7 if found[6] == 25_000 else min(found[6], 30_000 - 1)
        return os.stat_result(found)

    monkeypatch.setattr(OwnFile, "status", lies)
    raw, target = tmp_path / "raw", tmp_path / "target"
    raw.write_bytes(text(real))
    compress.compress(raw, target, None)
    data = target.read_bytes()
    index = index_of(data)
    assert index is not None and not any(index)
    assert gzip.decompress(data) == text(real)
