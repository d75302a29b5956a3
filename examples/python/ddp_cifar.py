#!/usr/bin/env python3
"""Trains with DistributedDataParallel on CPUs; who trains on what is decided by importance.

    python3 examples/python/ddp_cifar.py                                # two processes, drawn images
    python3 examples/python/ddp_cifar.py --data DIR --epochs 20         # CIFAR-10's binary files
    torchrun --nproc-per-node 4 examples/python/ddp_cifar.py --heuristic blocks

Stop it at any time and start it again with --resume: it goes on with the very next batch.
"""

import argparse
import os
import pathlib
import socket
import time

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import impart
from images import load_images, small_network


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with CIFAR-10's binary files; default: drawn images")
    parser.add_argument("--processes", type=int, default=2, help="to start, unless torchrun did")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32, help="of each process")
    parser.add_argument("--heuristic", default="stripes")
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--interval", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loader-workers", type=int, default=0, help="of each DataLoader")
    parser.add_argument("--checkpoints", type=pathlib.Path, help="folder to write them to")
    parser.add_argument("--every", type=int, default=20, help="steps between two checkpoints")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--stop-after", type=int, default=0, help="end after so many steps")
    return parser.parse_args()


class Training:
    """A model, what is known of the examples, and where training is."""

    def __init__(self, args):
        self.args = args
        torch.manual_seed(args.seed)
        data, self.test_data = load_images(args.data, seed=args.seed)
        self.model = DistributedDataParallel(small_network())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
        self.tracker = impart.Tracker(len(data), ["loss-variance"], ignore=1)
        self.sampler = impart.ImportanceSampler(
            data, self.tracker, args.heuristic, warmup=args.warmup, interval=args.interval,
            epochs=args.epochs, seed=args.seed)
        batches = impart.ImportanceBatchSampler(self.sampler, args.batch)
        self.loader = DataLoader(impart.IndexedDataset(data), batch_sampler=batches,
                                 num_workers=args.loader_workers)
        self.epoch = self.step = 0

    def run(self):
        while self.epoch < self.args.epochs:
            started = time.monotonic()
            self.sampler.set_epoch(self.epoch)
            for index, images, classes in self.loader:
                self.train_on(index, images, classes)
                if self.args.checkpoints and self.step % self.args.every == 0:
                    self.save()
                if self.step == self.args.stop_after:
                    return
            self.report(time.monotonic() - started)
            self.epoch += 1

    def train_on(self, index, images, classes):
        self.model.train()
        logits = self.model(images)
        self.optimizer.zero_grad()
        cross_entropy(logits, classes).backward()
        self.optimizer.step()
        self.tracker.observe(index, logits=logits, targets=classes)
        self.step += 1

    def report(self, seconds):
        accuracy = self.test_accuracy()
        if dist.get_rank() == 0:
            print(f"epoch {self.epoch}: {self.sampler.event or 'same parts':>10}, "
                  f"accuracy {accuracy:5.1f} %, {self.imbalance()}, {seconds:.1f} s", flush=True)

    def test_accuracy(self):
        """Every process tests a share; the sums are added up."""
        images, classes = (part[dist.get_rank()::dist.get_world_size()] for part in self.test_data.tensors)
        self.model.eval()
        with torch.no_grad():
            right = (self.model.module(images).argmax(dim=1) == classes).sum()
        sums = torch.tensor([right.item(), len(classes)], dtype=torch.float64)
        dist.all_reduce(sums)
        return 100 * sums[0].item() / sums[1].item()
