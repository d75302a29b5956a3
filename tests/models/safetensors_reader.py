"""Reads safetensors files into torch tensors."""

import json

import numpy
import torch

TYPES = {"F64": numpy.float64, "F32": numpy.float32, "I64": numpy.int64}


def load(path):
    """A safetensors file as a dict of tensors, in the header's order."""
    with open(path, "rb") as file:
        raw = file.read()
    start = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = (start + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(raw[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = torch.from_numpy(array.copy())
    return tensors
