#!/usr/bin/env python3
"""Trains with DistributedDataParallel on CPUs; who trains on what is decided by importance.

    python3 examples/python/ddp_cifar.py                             # two processes, drawn images
    python3 examples/python/ddp_cifar.py --data DIR --epochs 20      # CIFAR-10's binary files
    torchrun --nproc_per_node 4 examples/python/ddp_cifar.py --heuristic blocks

With --checkpoints FOLDER it can be killed at any time; --resume goes on with the very next batch.
"""

import argparse
import hashlib
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
    parser.add_argument("--examples", type=int, default=2000, help="of drawn images")
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
        data, self.test_data = load_images(args.data, train=args.examples, seed=args.seed)
        self.model = DistributedDataParallel(small_network())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.tracker = impart.Tracker(len(data), ["loss-variance"], seed=args.seed)
        self.sampler = impart.ImportanceSampler(
            data, self.tracker, args.heuristic, warmup=args.warmup, interval=args.interval,
            epochs=args.epochs, seed=args.seed)
        self.loader = DataLoader(impart.IndexedDataset(data), args.batch, sampler=self.sampler,
                                 num_workers=args.loader_workers,
                                 persistent_workers=args.loader_workers > 0,
                                 multiprocessing_context="forkserver" if args.loader_workers
                                 else None)
        self.counts = torch.zeros(2, dtype=torch.int64)  # right guesses, and all, of the test
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
        """All processes bring their visits together, test a share each, and one of them prints."""
        self.tracker.synchronise()
        accuracy = self.test_accuracy()
        imbalance = self.sampler.partition.measure(self.tracker.importance())
        if dist.get_rank() == 0:
            print(f"epoch {self.epoch}: accuracy {accuracy:5.1f} %, imbalance of importance "
                  f"{100 * imbalance.cv:.2f} %, {seconds:.1f} s", flush=True)

    def test_accuracy(self):
        rank, size = dist.get_rank(), dist.get_world_size()
        images, classes = (part[rank::size] for part in self.test_data.tensors)
        self.model.eval()
        with torch.no_grad():
            guesses = self.model.module(images).argmax(dim=1)
        self.counts[:] = torch.stack([(guesses == classes).sum(), torch.tensor(len(classes))])
        dist.all_reduce(self.counts)
        return 100 * self.counts[0].item() / self.counts[1].item()

    def save(self):
        """A folder with a file of each process; LATEST names it once all of them are there."""
        folder = self.args.checkpoints / f"step-{self.step}"
        folder.mkdir(parents=True, exist_ok=True)
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "sampler": self.sampler.state_dict(), "step": self.step},
                   folder / f"process-{dist.get_rank()}.pt")
        dist.barrier()
        if dist.get_rank() == 0:
            unfinished = self.args.checkpoints / "LATEST.new"
            unfinished.write_text(folder.name)
            unfinished.replace(self.args.checkpoints / "LATEST")

    def resume(self):
        folder = self.args.checkpoints / (self.args.checkpoints / "LATEST").read_text()
        saved = torch.load(folder / f"process-{dist.get_rank()}.pt")
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.sampler.load_state_dict(saved["sampler"])  # the tracker, too
        self.step, self.epoch = saved["step"], self.sampler.next_epoch

    def fingerprint(self):
        """Equal for equal weights, to the bit."""
        weights = [value.numpy().tobytes() for value in self.model.state_dict().values()]
        return hashlib.sha256(b"".join(weights)).hexdigest()[:16]


def train(args):
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    training = Training(args)
    if args.resume:
        training.resume()
    training.run()
    if dist.get_rank() == 0:
        print(f"after {training.step} steps: weights {training.fingerprint()}")
    dist.barrier()  # nobody leaves while another one still works
    time.sleep(0.1)  # torch 1.13 hangs if its threads still hold tensors when the group ends
    dist.destroy_process_group()


def start_process(rank, args, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(args.processes), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    train(args)


def main():
    args = parse_arguments()
    if (args.resume or args.stop_after) and not args.checkpoints:
        raise SystemExit("--resume and --stop-after need --checkpoints FOLDER")
    if "RANK" in os.environ:  # torchrun's
        train(args)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(start_process, (args, port), nprocs=args.processes)


if __name__ == "__main__":
    main()
