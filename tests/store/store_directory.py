"""Reads the folders of a partitioned store, from docs/formats.md alone.

    store_directory.py FOLDER [EXAMPLES BYTES VARIED]

prints who holds how many examples; with the numbers of a generated data set it also compares every
payload with what it must be.
"""

import pathlib
import struct
import sys

import numpy
import xxhash

RECORD = struct.Struct("<QQQQQQ")
HAVE, GONE, CLOSED, OPENED = 1, 2, 3, 4


class Damaged(Exception):
    pass


def read_journal(path):
    """The header's (data_id, examples) and the records up to the first that is not whole."""
    data = path.read_bytes()
    magic, version, length, examples = struct.unpack_from("<8sIIQ", data)
    if magic != b"IMPSHELF" or version != 1:
        raise Damaged(f"{path}: no journal")
    header = 24 + length
    (check,) = struct.unpack_from("<Q", data, header)
    if xxhash.xxh3_64_intdigest(data[:header]) != check:
        raise Damaged(f"{path}: header")
    records = []
    place = header + 8
    while place + RECORD.size <= len(data):
        *fields, check = RECORD.unpack_from(data, place)
        if xxhash.xxh3_64_intdigest(data[place:place + 40], seed=place) != check:
            break
        records.append(fields)
        place += RECORD.size
    return (data[24:header].decode(), examples), records, place == len(data)


def read_shelf(folder):
    """What a worker holds, {id: payload}, and whether its journal ends in order."""
    _, records, whole = read_journal(folder / "journal")
    held = {}
    for kind, number, offset, size, digest in records:
        if kind == HAVE:
            held[number] = (offset, size, digest)
        elif kind == GONE:
            held.pop(number, None)
        elif kind not in (CLOSED, OPENED):
            raise Damaged(f"{folder}: record of kind {kind}")
    data = (folder / "payloads").read_bytes()
    payloads = {}
    for number, (offset, size, digest) in held.items():
        payload = data[offset:offset + size]
        if len(payload) != size or xxhash.xxh3_64_intdigest(payload) != digest:
            raise Damaged(f"{folder}: payload of example {number}")
        payloads[number] = payload
    return payloads, whole and bool(records) and records[-1][0] == CLOSED


def read_store(folder):
    """What every worker holds: {worker: {id: payload}}."""
    folders = sorted(pathlib.Path(folder).glob("worker-*"))
    return {int(f.name.split("-")[1]): read_shelf(f)[0] for f in folders}


def generated_payload(number, size, varied):
    """As tests/store/generated_source.h makes it."""
    length = number * 40503 % (2 * size + 1) if varied else size
    steps = numpy.arange(length, dtype=numpy.uint64)
    values = (number * 2654435761 + steps * (2246822519 + number)) % 2**32
    return (values >> numpy.uint64(24)).astype(numpy.uint8).tobytes()


def faults_of(parts, examples, size, varied):
    """What is wrong with a store of a generated data set: complaints."""
    owners = {}
    for worker, payloads in parts.items():
        for number, payload in payloads.items():
            owners.setdefault(number, []).append(worker)
            if payload != generated_payload(number, size, varied):
                yield f"example {number} of worker {worker} has other bytes"
    for number in range(examples):
        if len(owners.get(number, [])) != 1:
            yield f"example {number} is held by workers {owners.get(number, [])}"
    yield from (f"example {number} does not exist" for number in owners if number >= examples)


def main():
    parts = read_store(sys.argv[1])
    for worker, payloads in parts.items():
        print(f"worker {worker}: {len(payloads)} examples, {sum(map(len, payloads.values()))} bytes")
    if len(sys.argv) < 5:
        return 0
    found = list(faults_of(parts, *(int(word) for word in sys.argv[2:5])))
    print("\n".join(found) if found else "every example has one owner and its own bytes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
