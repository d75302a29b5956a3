"""Reads a TensorBoard event file with nothing but the standard library and prints it as JSON.

    read_events.py FILE        one line per event; fails if a length or a checksum is wrong

The checksum (CRC-32C, bit by bit) and the protobuf wire format are written out here, independent of
the libraries that the writer uses.
"""
import json
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        (length,) = struct.unpack("<Q", head)
        (head_crc,) = struct.unpack("<I", data[at + 8:at + 12])
        body = data[at + 12:at + 12 + length]
        (body_crc,) = struct.unpack("<I", data[at + 12 + length:at + 16 + length])
        if head_crc != masked(head) or body_crc != masked(body):
            sys.exit(f"offset {at}: wrong checksum")
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def fields(data):
    """Yields (number, value): int, 8 or 4 raw bytes, or a block of bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(wire)
            if wire == 2:
                size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        yield number, value


def doubles(data):
    return list(struct.unpack(f"<{len(data) // 8}d", data))


def histogram(data):
    names = {1: "min", 2: "max", 3: "num", 4: "sum", 5: "sum_squares", 6: "limits", 7: "counts"}
    found = {name: 0.0 for name in names.values()}
    for number, value in fields(data):
        found[names[number]] = doubles(value) if number > 5 else doubles(value)[0]
    return found


def image(data):
    names = {1: "height", 2: "width", 3: "channels", 4: "bytes"}
    return {names[number]: value.hex() if number == 4 else value for number, value in fields(data)}


def setting(data):
    """What a google.protobuf.Value says."""
    number, value = next(fields(data))
    return {2: lambda: doubles(value)[0], 3: lambda: value.decode(), 4: lambda: bool(value)}[number]()


def hparams(data):
    """What the plugin of that name is told, by the names of its protobuf file."""
    found = {}
    for kind, body in fields(data):
        for number, value in fields(body):
            if (kind, number) == (3, 1):
                entry = dict(fields(value))
                found.setdefault("settings", {})[entry[1].decode()] = setting(entry[2])
            elif (kind, number) == (2, 4):
                info = dict(fields(value))
                found.setdefault("types", {})[info[1].decode()] = info.get(4, 0)
            elif (kind, number) == (2, 5):
                name = dict(fields(dict(fields(value))[1]))
                found.setdefault("metrics", []).append(name[2].decode())
    return found


def metadata(data):
    found = {}
    for number, value in fields(data):
        if number == 1:
            plugin = dict(fields(value))
            found["plugin"] = plugin[1].decode()
            found.update(hparams(plugin.get(2, b"")))
        elif number == 3:
            found["description"] = value.decode()
    return found


def summary_value(data):
    found = {}
    for number, value in fields(data):
        if number == 1:
            found["tag"] = value.decode()
        elif number == 2:
            found["scalar"] = struct.unpack("<f", value)[0]
        elif number == 4:
            found["image"] = image(value)
        elif number == 5:
            found["histogram"] = histogram(value)
        elif number == 9:
            found.update(metadata(value))
    return found


def event(data):
    found = {"step": 0}
    for number, value in fields(data):
        if number == 1:
            found["wall_time"] = doubles(value)[0]
        elif number == 2:
            found["step"] = value
        elif number == 3:
            found["version"] = value.decode()
        elif number == 5:
            found.update(summary_value(dict(fields(value))[1]))
        elif number == 7:
            found["session"] = dict(fields(value))[1]
    return found


if __name__ == "__main__":
    assert crc32c(b"123456789") == 0xE3069283
    with open(sys.argv[1], "rb") as file:
        for body in records(file.read()):
            print(json.dumps(event(body)))
