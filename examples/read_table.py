"""A complete reader of tables, without tilebase, to be copied; docs/format.md is the specification.

It yields the boards of a table: the sum, the key and the stored value of each.  It needs ``zstandard`` alone,
and refuses by an assertion what is damaged, or too large to have been written.
"""

import json
import struct
import zlib
from pathlib import Path

import zstandard

MOST_BOARDS, MOST_CHUNKS, MOST_PAGE, WINDOW = 1 << 20, 1 << 22, 1 << 28, 1 << 23
NUMBERS = {
    "float64": "d",
    "float32": "f",
    "float16": "e",
    "uint64": "Q",
    "uint32": "I",
    "uint16": "H",
    "int32": "i",
}


def read_table(folder, label, varying=(1 << 64) - 1):
    """`varying` are the bits of a key that vary: those of the cells that are neither walls nor held."""
    manifest = (Path(folder) / "manifest.json").read_bytes()
    assert f"{zlib.crc32(manifest[19:]):08x}" == manifest[11:19].decode()
    manifest = json.loads(manifest)
    told, dtype = manifest["layers"][label], manifest["objectives"][label]["dtype"]
    folder, keyed = Path(folder) / "values" / label, "space" not in manifest
    bits = [bit for bit in range(64) if varying >> bit & 1]
    for least, most, offset, size, crc in told["pages"]:
        assert size <= MOST_PAGE
        with (folder / "layers.idx").open("rb") as file:
            file.seek(offset)
            page = file.read(size)
        assert len(page) == size and f"{zlib.crc32(page):08x}" == crc
        while page:
            magic, of, total, boards, chunks, rows_crc, own, number, at, size, crc = struct.unpack(
                "<4sIQQIIIIQQI", page[:60]
            )
            assert magic == b"LAYR" and crc == zlib.crc32(page[:56]) and own == zlib.crc32(page[4:32])
            assert f"{of:08x}" == told["check"] and chunks <= MOST_CHUNKS and least <= total <= most
            end = 60 + chunks * (28 if keyed else 20)
            rows, page, last = page[60:end], page[end:], -1
            assert len(rows) == end - 60 and zlib.crc32(rows) == rows_crc
            with (folder / f"{number:03d}.seg").open("rb") as file:
                assert file.read(16) == b"tilebaseCHUNK\3\0\0"
                file.seek(at)
                for first, count, *frames in struct.iter_unpack("<QIIIII" if keyed else "<QIII", rows):
                    assert 1 <= count <= MOST_BOARDS and max(frames[::2]) <= 16 * count + 1024
                    content = [
                        inflate(file.read(length), check, count)
                        for length, check in zip(frames[::2], frames[1::2], strict=True)
                    ]
                    keys = read_keys(first, count, content[0], bits) if keyed else range(first, first + count)
                    assert last < keys[0]
                    last = keys[-1]
                    for key, value in zip(keys, read_values(count, content[-1], dtype), strict=True):
                        yield total, key, value
                    boards, size = boards - count, size - sum(frames[::2])
            assert boards == size == 0


def inflate(frame, check, count):
    assert zlib.crc32(frame) == check
    assert zstandard.frame_content_size(frame) <= 10 * count + 1
    return zstandard.ZstdDecompressor(max_window_size=WINDOW).decompress(
        frame, max_output_size=10 * count + 1
    )


def read_keys(first, count, deltas, bits):
    fixed = first & ~sum(1 << bit for bit in bits)
    short = sum((first >> bit & 1) << at for at, bit in enumerate(bits))
    keys, delta, shift = [first], 0, 0
    for byte in deltas:
        assert shift < 70
        delta, shift = delta | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            short, delta, shift = short + delta, 0, 0
            key = fixed | sum((short >> at & 1) << bit for at, bit in enumerate(bits))
            assert keys[-1] < key and short < 1 << len(bits)
            keys.append(key)
    assert len(keys) == count and shift == 0
    return keys


def read_values(count, content, dtype):
    if dtype == "bit":
        assert len(content) == (count + 7) // 8
        return [content[i // 8] >> i % 8 & 1 for i in range(count)]
    return struct.unpack(f"<{count}{NUMBERS[dtype]}", content)
