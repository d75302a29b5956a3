"""What was trained, used: the runs and the pictures for the tests of evaluate, predict, sample, export
and fine-tuning.

Exports are loaded with torchvision, and with Hugging Face's transformers, where they are installed.
"""

import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys

import training
from training import IMPART, RunFolder, settings

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from class_folder import ClassFolderTest  # noqa: E402


def missing(*modules):
    """Why a test that needs them cannot run; "" if it can."""
    lacking = []
    for name in modules:
        try:
            __import__(name)
        except ImportError as error:
            lacking.append(str(error))
    return "; ".join(lacking)


NO_TORCHVISION = missing("torch", "torchvision", "PIL")
NO_TORCH = missing("torch")
NO_TRANSFORMERS = missing("torch", "transformers", "tokenizers")

BASE = {
    "threads": 1,
    "epochs": 2,
    "workers.count": 2,
    "workers.batch": 8,
    "optimizer.lr": 0.01,
    "importance.notion": "loss-last",
    "importance.ignore": 0,
    "partition.warmup": 1,
    "partition.interval": 1,
}
GPT = {
    **BASE,
    "data.name": "text",
    "data.root": "books",
    "data.tokenizer": "bpe",
    "data.vocabulary": 300,
    "data.block": 24,
    "model.name": "gpt-tiny",
    "optimizer.name": "adamw",
    "optimizer.lr": 0.003,
}
FROZEN = {"epochs": 1, "optimizer.lr": 1e-30, "optimizer.weight_decay": 0, "optimizer.momentum": 0,
          "optimizer.nesterov": "false", "partition.warmup": 1}


def write_safetensors(path, tensors):
    """name -> tensor of torch, as Python's safetensors writes them."""
    kinds = {"torch.float32": "F32", "torch.float16": "F16", "torch.int64": "I64"}
    header, data = {}, b""
    for name, tensor in tensors.items():
        content = bytes(tensor.detach().contiguous().view(-1).numpy().tobytes())
        header[name] = {"dtype": kinds[str(tensor.dtype)], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def load_script(path):
    """The module in a file, fresh."""
    spec = importlib.util.spec_from_file_location(f"loaded_{abs(hash(str(path)))}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class UseTest(ClassFolderTest):
    """Runs are trained in the folder of the class."""

    @classmethod
    def run_impart(cls, *args):
        return subprocess.run([IMPART, *map(str, args)], cwd=cls.folder, env=training.ENVIRONMENT,
                              text=True, errors="replace", capture_output=True, check=False)

    @classmethod
    def train(cls, base, name, **changes):
        done = cls.run_impart("train", *settings(base, **changes), f"output={name}")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return RunFolder(cls.folder / name), done.stderr

    def succeed(self, *args):
        done = self.run_impart(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def answer(self, *args):
        return json.loads(self.succeed(*args, "--json"))

    def fail_with(self, code, message, *args):
        done = self.run_impart(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)
