#!/usr/bin/env python3
"""DiLoCo: ranks train on their own for many steps, and only then agree on common weights.

    python3 examples/python/diloco.py                     # two processes, drawn images
    python3 examples/python/diloco.py --between 1000      # they agree once an epoch
    torchrun --nproc_per_node 4 examples/python/diloco.py --outer average

Who holds which examples is decided by importance, as in ddp_cifar.py; here it matters more, since
between two agreements a rank sees nothing but its own.
"""

import argparse
import hashlib
import os
import socket
import time

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
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
    parser.add_argument("--between", type=int, default=10, help="steps between two agreements")
    parser.add_argument("--outer", default="nesterov", help="average, nesterov or slowmo")
    parser.add_argument("--heuristic", default="stripes")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Training:
    """A model of this rank's own, and the last weights that all agreed on."""

    LEARNING_RATE = 1e-3

    def __init__(self, args):
        self.args = args
        torch.manual_seed(args.seed)  # all ranks start from the same weights
        data, self.test_data = load_images(args.data, train=args.examples, seed=args.seed)
        self.model = small_network()
        self.weights = [*self.model.parameters(),
                        *(b for b in self.model.buffers() if b.is_floating_point())]
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.LEARNING_RATE)
        self.outer = impart.outer_state(self.weights)
        self.tracker = impart.Tracker(len(data), ["loss-variance"], seed=args.seed)
        self.sampler = impart.ImportanceSampler(data, self.tracker, args.heuristic,
                                                warmup=min(2, args.epochs),
                                                interval=2, epochs=args.epochs, seed=args.seed)
        self.loader = DataLoader(impart.IndexedDataset(data), args.batch, sampler=self.sampler)
        self.visits = self.agreements = 0

    def run(self):
        for epoch in range(self.args.epochs):
            self.sampler.set_epoch(epoch)
            for step, (index, images, classes) in enumerate(self.loader, 1):
                self.train_on(index, images, classes)
                if step % self.args.between == 0 or step == len(self.loader):
                    self.agree()
            self.tracker.synchronise()
            if dist.get_rank() == 0:
                print(f"epoch {epoch}: accuracy {self.test_accuracy():5.1f} %", flush=True)

    def train_on(self, index, images, classes):
        self.model.train()
        logits = self.model(images)
        self.optimizer.zero_grad()
        cross_entropy(logits, classes).backward()
        self.optimizer.step()
        self.tracker.observe(index, logits=logits, targets=classes)
        self.visits += len(index)

    def agree(self):
        impart.outer_step(self.weights, self.outer, self.args.outer, visits=self.visits,
                          inner_lr=self.LEARNING_RATE)
        self.visits = 0
        self.agreements += 1

    def test_accuracy(self):
        images, classes = self.test_data.tensors
        self.model.eval()
        with torch.no_grad():
            guesses = self.model(images).argmax(dim=1)
        return 100 * (guesses == classes).float().mean().item()

    def fingerprint(self):
        """Equal for equal weights, to the bit."""
        content = b"".join(weight.detach().numpy().tobytes() for weight in self.weights)
        return hashlib.sha256(content).hexdigest()[:16]


def train(args):
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    training = Training(args)
    training.run()
    size = sum(weight.numel() for weight in training.weights) * 4
    print(f"rank {dist.get_rank()}: weights {training.fingerprint()}, {training.agreements} "
          f"agreements over {training.agreements * size} bytes", flush=True)
    dist.barrier()  # nobody leaves while another one still works
    time.sleep(0.1)  # torch 1.13 hangs if its threads still hold tensors when the group ends
    dist.destroy_process_group()


def start_process(rank, args, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(args.processes), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    train(args)


def main():
    args = parse_arguments()
    if "RANK" in os.environ:  # torchrun's
        train(args)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(start_process, (args, port), nprocs=args.processes)


if __name__ == "__main__":
    main()
