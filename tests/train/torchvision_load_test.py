#!/usr/bin/env python3
"""A checkpoint's model goes into torchvision's ResNet-18 as it is.

    /usr/bin/python3 torchvision_load_test.py path/to/impart
"""

import json
import random
import struct
import unittest

import training
from training import SHORT, settings

try:
    import torch
    import torchvision
except ImportError as error:
    torch, WHY = None, str(error)
else:
    WHY = ""

BASE = {
    **SHORT,
    "epochs": 2,
    "data.name": "cifar10",
    "data.root": "cifar",
    "model.name": "resnet18",
    "model.stem": "imagenet",
    "workers.batch": 8,
    "partition.warmup": 2,
}
IMAGE = 3 * 32 * 32
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


def read_safetensors(path):
    """name -> tensor; the format is a length, a JSON header, and the bytes it points into."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    kinds = {"F32": torch.float32, "I64": torch.int64}
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(content[first:last]), dtype=kinds[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


@unittest.skipIf(torch is None, WHY)
class TorchvisionTest(training.TrainingTest):
    def write_noise(self, name, count, draw):
        """Records of CIFAR-10; their images (normalised) and labels."""
        records = [bytes([draw.randrange(10)]) + draw.randbytes(IMAGE) for _ in range(count)]
        (self.folder / "cifar" / name).write_bytes(b"".join(records))
        pixels = torch.tensor([list(record[1:]) for record in records]).reshape(-1, 3, 32, 32)
        mean, std = (torch.tensor(values).reshape(1, 3, 1, 1) for values in (MEAN, STD))
        return (pixels / 255 - mean) / std, torch.tensor([record[0] for record in records])

    def test_loads_strictly_and_evaluates_to_the_same(self):
        (self.folder / "cifar").mkdir()
        draw = random.Random(1)
        for number in range(1, 6):
            self.write_noise(f"data_batch_{number}.bin", 16, draw)
        images, labels = self.write_noise("test_batch.bin", 60, draw)
        self.succeed(*settings(BASE), "output=run")
        run = self.run_folder("run")

        tensors = read_safetensors(run.checkpoints()[-1] / "model.safetensors")
        model = torchvision.models.resnet18(num_classes=10)
        model.load_state_dict(tensors, strict=True)
        model.eval()
        with torch.no_grad():
            logits = model(images)
        self.assertTrue(torch.isfinite(logits).all())
        loss = float(torch.nn.functional.cross_entropy(logits, labels))
        accuracy = 100 * float((logits.argmax(1) == labels).float().mean())
        last = run.metrics()[-1]
        self.assertAlmostEqual(loss, last["test_loss"], delta=1e-3 * loss)
        self.assertAlmostEqual(accuracy, last["test_accuracy"], delta=100 / 60 + 1e-6)


if __name__ == "__main__":
    unittest.main()
