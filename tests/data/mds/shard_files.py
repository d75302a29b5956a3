"""MDS shards read and written here from the documented bytes, with nothing of impart's code."""

import base64
import hashlib
import json
import struct
import zlib

JPEG = base64.b64decode(  # 16 x 16, grey
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqM"
    "yP/L2u71////m8H////6/+b9//j/wAALCAAQABABAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUEAEAAAAAAAAA"
    "AAAAAAAAAAAA/9oACAEBAAA/ALgH/9k=")


def png(width, height, colour):
    """One colour, 8 bits red, green and blue."""
    chunk = lambda kind, data: (struct.pack(">I", len(data)) + kind + data
                                + struct.pack(">I", zlib.crc32(kind + data)))
    rows = (b"\0" + bytes(colour) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_shards(folder, columns, samples, per_shard=3, hashes=("sha256", "md5")):
    """columns: (name, encoding, size or None); samples: one tuple of bytes each."""
    folder.mkdir(parents=True)
    names, encodings, sizes = (list(column) for column in zip(*columns))
    shards = []
    for first in range(0, len(samples), per_shard):
        packed = []
        for sample in samples[first:first + per_shard]:
            head = [len(value) for value, size in zip(sample, sizes) if size is None]
            packed.append(struct.pack(f"<{len(head)}I", *head) + b"".join(sample))
        config = b'{"any": "text"}'
        at = 4 + 4 * (len(packed) + 1) + len(config)
        offsets = [at + sum(map(len, packed[:i])) for i in range(len(packed) + 1)]
        data = struct.pack(f"<{len(offsets) + 1}I", len(packed), *offsets) + config + b"".join(packed)
        name = f"shard.{len(shards):05}.mds"
        (folder / name).write_bytes(data)
        shards.append({
            "version": 2, "format": "mds", "compression": None, "hashes": list(hashes),
            "size_limit": 1 << 26, "column_names": names, "column_encodings": encodings,
            "column_sizes": sizes, "samples": len(packed), "zip_data": None,
            "raw_data": {"basename": name, "bytes": len(data),
                         "hashes": {h: hashlib.new(h, data).hexdigest() for h in hashes}}})
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))


def read_shards(folder):
    """Every sample as {column: bytes}, after checking sizes and hashes that hashlib knows."""
    for shard in json.loads((folder / "index.json").read_text())["shards"]:
        data = (folder / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"]
        for name, value in shard["raw_data"]["hashes"].items():
            if name in hashlib.algorithms_available:
                assert hashlib.new(name, data).hexdigest() == value, name
        count, = struct.unpack_from("<I", data)
        assert count == shard["samples"]
        offsets = struct.unpack_from(f"<{count + 1}I", data, 4)
        for start, end in zip(offsets, offsets[1:]):
            at, sizes = start, []
            for size in shard["column_sizes"]:
                if size is None:
                    size, = struct.unpack_from("<I", data, at)
                    at += 4
                sizes.append(size)
            sample = {}
            for name, size in zip(shard["column_names"], sizes):
                sample[name] = data[at:at + size]
                at += size
            assert at == end
            yield sample
