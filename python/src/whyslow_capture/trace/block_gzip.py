"""
Writes a gzip whose parts can be inflated one without the other, for readers that have several threads.

For every other reader it is a gzip with one member. After each block the compressor forgets what came before (a full
flush). The index is in the extra field of the header, which RFC 1952 provides for such things and which other readers
skip: how long each block is, and the checksum up to its end. `src/sources/gzip-blocks.ts` reads it.
"""

from __future__ import annotations

import struct
import zlib

from ..own_files import OwnFile

BLOCK = 4 << 20
# Magic, deflate, an extra field and nothing else, no time, no extra flags, unknown system.
HEADER = struct.pack("<HBBIBB", 0x8B1F, 8, 4, 0, 0, 255)
# Of the index: its version, bytes in a block, bytes of all. Zeros while it is not complete.
INDEX_HEAD = struct.Struct("<IIQ")
VERSION = 1
# Of each block: its length in the file, and the checksum of everything up to its end.
ENTRY = struct.Struct("<II")
# The length of the extra field has 16 bits, and the index has 4 bytes before it.
MOST_BLOCKS = (0xFFFF - 4 - INDEX_HEAD.size) // ENTRY.size
RAW_DEFLATE = -15


class BlockGzip:
    """Takes `size` bytes. With more or fewer the file is a good gzip all the same, but without an index."""

    def __init__(self, out: OwnFile, size: int, level: int) -> None:
        self._out = out
        self._size = size
        self._block = BLOCK
        while size > self._block * MOST_BLOCKS:
            self._block *= 2
        self._engine = zlib.compressobj(level, zlib.DEFLATED, RAW_DEFLATE)
        self._crc = 0
        self._raw = 0
        self._stored = 0
        self._entries: list[bytes] = []
        blocks = -(-size // self._block)
        out.write(_header(bytes(INDEX_HEAD.size + blocks * ENTRY.size)))

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        while view:
            piece = view[: self._block - self._raw % self._block]
            view = view[len(piece) :]
            self._crc = zlib.crc32(piece, self._crc)
            self._raw += len(piece)
            self._put(self._engine.compress(piece))
            if self._raw % self._block == 0 and self._raw < self._size:
                self._end_block(zlib.Z_FULL_FLUSH)
        return len(data)

    def finish(self) -> None:
        self._end_block(zlib.Z_FINISH)
        self._out.write(struct.pack("<II", self._crc, self._raw & 0xFFFFFFFF))
        if self._raw == self._size:
            head = INDEX_HEAD.pack(VERSION, self._block, self._raw)
            self._out.write_at(_header(head + b"".join(self._entries)), 0)

    def _end_block(self, how: int) -> None:
        self._put(self._engine.flush(how))
        self._entries.append(ENTRY.pack(self._stored, self._crc))
        self._stored = 0

    def _put(self, data: bytes) -> None:
        self._stored += len(data)
        self._out.write(data)


def _header(index: bytes) -> bytes:
    return HEADER + struct.pack("<H2sH", len(index) + 4, b"WS", len(index)) + index
