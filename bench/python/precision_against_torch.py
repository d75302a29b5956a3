#!/usr/bin/env python3
"""How long a training step of ResNet-18 takes on a CPU in fp32 and bf16, here and in PyTorch, in the same run.

    precision_against_torch.py PRECISION_BENCH... [--batch 256] [--threads 2] [--rounds 3] [--steps 6] [--profile]

PRECISION_BENCH is the program build/…/bin/precision_bench; several, built with other LibTorchs, take turns. All train
the same ResNet-18 (imagenet stem, 10 classes, images of 32×32, SGD with momentum): PyTorch's as its users write it
(autocast to bfloat16, channels last), with one batch norm over the batch; ours as 4 workers that share the batch, with
importance tracked. Steps of all kinds take turns, and so do programs. Times are the clock's and, for machines
with other work, the processor's; the ratios are of medians. Both must begin at about the loss of guessing.
"""

import argparse
import math
import re
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional

CLASSES, SIDE = 10, 32


class Block(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or before != width:
            self.downsample = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        inner = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        shortcut = x if self.downsample is None else self.downsample(x)
        return functional.relu(self.bn2(self.conv2(inner)).add_(shortcut), inplace=True)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
        self.blocks = nn.Sequential(*(Block(before, width, 1 if before == width else 2)
                                      for before, width in zip(widths, widths[1:])))
        self.fc = nn.Linear(512, CLASSES)

    def forward(self, images):
        x = functional.relu(self.bn1(self.conv1(images)), inplace=True)
        x = self.blocks(functional.max_pool2d(x, 3, 2, 1))
        return self.fc(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Torch:
    """Steps of one kind, and how long they took."""

    def __init__(self, batch, half, channels_last):
        torch.manual_seed(1)
        order = torch.channels_last if channels_last else torch.contiguous_format
        self.half = half
        self.model = ResNet18().to(memory_format=order)
        self.images = torch.randn(batch, 3, SIDE, SIDE).contiguous(memory_format=order)
        self.labels = torch.randint(CLASSES, (batch,))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, nesterov=True,
                                         weight_decay=5e-4)
        self.clock, self.processor = [], []
        first = self.step()
        if abs(first - math.log(CLASSES)) > 0.7:
            sys.exit(f"wrong answer: the first loss is {first}, not that of guessing")
        self.step()

    def step(self):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            loss = functional.cross_entropy(self.model(self.images), self.labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def time_step(self):
        clock, processor = time.perf_counter(), time.process_time()
        self.step()
        self.clock.append(1e3 * (time.perf_counter() - clock))
        self.processor.append(1e3 * (time.process_time() - processor))


def ours(program, arguments):
    """Milliseconds of a step by the clock and of the processor, in fp32 and in bf16."""
    said = subprocess.run([program, "resnet18", str(arguments.batch), str(arguments.steps), str(arguments.threads)],
                          capture_output=True, text=True, check=True).stdout
    found = re.findall(r"(\w+): ([\d.]+) ms a step, ([\d.]+) ms of the processor", said)
    version = re.search(r"LibTorch ([\d.]+)", said)
    if len(found) != 2 or not version:
        sys.exit(f"cannot read what {program} says:\n{said}")
    return {f"impart, LibTorch {version[1]}, {name}": (float(clock), float(processor)) for name, clock, processor in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="*")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6, help="of each kind in a round")
    parser.add_argument("--profile", action="store_true", help="say where PyTorch's time in bf16 goes")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    name = f"PyTorch {torch.__version__.split('+')[0]}"
    theirs = {f"{name}, fp32": Torch(arguments.batch, False, False),
              f"{name}, fp32, channels last": Torch(arguments.batch, False, True),
              f"{name}, bf16, channels last": Torch(arguments.batch, True, True)}
    found = {}
    for _ in range(arguments.rounds):
        for _ in range(arguments.steps):
            for loop in theirs.values():
                loop.time_step()
        for program in arguments.bench:
            for kind, times in ours(program, arguments).items():
                found.setdefault(kind, []).append(times)
    median = statistics.median
    rows = {kind: (median(loop.clock), median(loop.processor)) for kind, loop in theirs.items()}
    rows |= {kind: tuple(map(median, zip(*times))) for kind, times in found.items()}
    best = rows[f"{name}, bf16, channels last"]
    print(f"ResNet-18, {arguments.batch} images, {arguments.threads} threads, {arguments.rounds} rounds of {arguments.steps} steps; "
          "ms a step by the clock and of the processor, and both over PyTorch's in bf16")
    for kind, (clock, processor) in rows.items():
        print(f"{kind:40} {clock:7.1f} {processor:7.1f}   {clock / best[0]:.3f} {processor / best[1]:.3f}")
    if arguments.profile:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            for _ in range(3):
                theirs[f"{name}, bf16, channels last"].step()
        print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=16, max_name_column_width=45))


if __name__ == "__main__":
    main()
