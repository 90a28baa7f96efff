"""The format of a spool's segment: events under seal, one after the other, in a file of fixed size.

A record is one or more pieces, each: mark (4) | index (2) | count (2) | sealed length (2) | 0 (2) | seq (8) | sealed,
on 8-byte boundaries. The head is authenticated; the nonce is the piece's place in the file. A segment's key belongs to
(producer, number) alone and every place is written once, so no nonce is ever used twice, and a piece that was moved,
cut or changed does not open. Pieces stay below 2048 bytes: from there on cryptography releases the interpreter lock,
and the call that writes would wait for it.

What cannot be read costs the record that it stood in and no other: reading goes on at the next piece that opens.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from afterturn.credentials import derive_key

PURPOSE = b"afterturn/spool/v1"
MAGIC = b"ATSPOOL\x01"
START = 64
PIECE_BYTES = 2000

_HEAD = struct.Struct("<4sHHHHQ")
_pack_head = _HEAD.pack
_MARK = b"\xa7spl"
_TAG_BYTES = 16
_HEAD_AND_TAG = _HEAD.size + _TAG_BYTES
_ALIGNED_HEAD_AND_TAG = _HEAD_AND_TAG + 7
_MAX_SEALED = PIECE_BYTES + _TAG_BYTES


@dataclass(frozen=True, slots=True)
class Record:
    """An event as it was written, and its number."""

    seq: int
    plain: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that hold no record: torn by a death, or changed."""

    offset: int


def segment_cipher(seal_key: bytes, producer: UUID, number: int) -> AESGCM:
    """The cipher of one segment, made once by its writer: a second writer would use nonces again."""
    return AESGCM(derive_key(seal_key, salt=producer.bytes + number.to_bytes(8, "big"), info=PURPOSE))


def record_bytes(size: int) -> int:
    """What a record of `size` plain bytes takes, at least one piece, up to the next boundary."""
    if size <= PIECE_BYTES:
        return (size + _ALIGNED_HEAD_AND_TAG) & ~7
    whole, rest = divmod(size, PIECE_BYTES)
    return whole * _FULL_PIECE + (record_bytes(rest) if rest else 0)


def write_record(segment: mmap | bytearray, cipher: AESGCM, offset: int, seq: int, plain: bytes) -> None:
    """Writes a record at a place that was never written, with `record_bytes(len(plain))` free from there on."""
    size = len(plain)
    if size <= PIECE_BYTES:
        head = _pack_head(_MARK, 0, 1, size + _TAG_BYTES, 0, seq)
        segment[offset : offset + size + _HEAD_AND_TAG] = head + cipher.encrypt(offset.to_bytes(12, "big"), plain, head)
        return
    count = -(-size // PIECE_BYTES)
    for index in range(count):
        piece = plain[index * PIECE_BYTES : (index + 1) * PIECE_BYTES]
        sealed_length = len(piece) + _TAG_BYTES
        head = _pack_head(_MARK, index, count, sealed_length, 0, seq)
        end = offset + _HEAD.size + sealed_length
        segment[offset:end] = head + cipher.encrypt(offset.to_bytes(12, "big"), piece, head)
        offset = (end + 7) & ~7


def read_record(segment: bytes, cipher: AESGCM, offset: int, *, base: int = 0) -> tuple[Record, int] | None:
    """The record that begins here and where it ends; None when none does, or not every piece of it opens.

    base: where in the file `segment` begins, when it is only a part of it.
    """
    parts: list[bytes] = []
    first: tuple[int, int] | None = None
    while True:
        head = segment[offset - base : offset - base + _HEAD.size]
        if len(head) < _HEAD.size:
            return None
        mark, index, count, sealed_length, _, seq = _HEAD.unpack(head)
        if mark != _MARK or index != len(parts) or index >= count or sealed_length > _MAX_SEALED:
            return None
        if first is not None and first != (count, seq):
            return None
        first = count, seq
        end = offset + _HEAD.size + sealed_length
        try:
            parts.append(
                cipher.decrypt(offset.to_bytes(12, "big"), segment[offset - base + _HEAD.size : end - base], head)
            )
        except InvalidTag:
            return None
        offset = _aligned(end)
        if len(parts) == count:
            return Record(seq, b"".join(parts)), offset


def read_segment(segment: bytes, cipher: AESGCM) -> Iterator[Record | Damage]:
    """Every record that can be read, in order, and where something else than nothing stands between them."""
    offset = START
    while offset < len(segment):
        found = read_record(segment, cipher, offset)
        following = offset
        while found is None:
            following = segment.find(_MARK, following + 1)
            if following < 0:
                if segment[offset:].strip(b"\0"):
                    yield Damage(offset)
                return
            if following % 8 == 0:
                found = read_record(segment, cipher, following)
        if following != offset and segment[offset:following].strip(b"\0"):
            yield Damage(offset)
        record, offset = found
        yield record


def _aligned(offset: int) -> int:
    return (offset + 7) & ~7


_FULL_PIECE = _aligned(_HEAD.size + _MAX_SEALED)
