#!/usr/bin/env python3
"""What observing costs: per step of a ResNet-18 on the CPU, and beside a loop over the examples.

    PYTHONPATH=build/release/python python3 bench/python/observe_bench.py [--threads 2]

Batch 256, 1 000 classes. The step is forward, loss and backward of torchvision's ResNet-18 with
images of 64 x 64, a twelfth of the arithmetic of the usual 224 x 224. The loop is how prototypes
track losses: a loss for each example, `.item()`, and a list for each example. All are timed in
turns in the same run, and what they learned is compared before anything is timed.
"""

import argparse
import collections
import statistics
import time

import numpy as np
import torch
import torchvision

import impart

BATCH, CLASSES, SIDE = 256, 1000, 64


def median_seconds(run, rounds):
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def track_in_a_loop(history, criterion, ids, logits, targets):
    """Per example: its loss, as a number, into its list."""
    for i, example in enumerate(ids.tolist()):
        history[example].append(criterion(logits[i:i + 1], targets[i:i + 1]).item())


def track_losses_in_a_loop(history, ids, losses):
    """The same where training has the losses of the examples anyway."""
    for i, example in enumerate(ids.tolist()):
        history[example].append(losses[i].item())


def check(ids, targets, criterion):
    """Both ways come to the same mean and variance of the loss."""
    tracker = impart.Tracker(2 * BATCH, ["loss-average", "loss-variance"])
    history = collections.defaultdict(list)
    for epoch in range(4):
        logits = 3 * torch.randn(BATCH, CLASSES)
        tracker.epoch = epoch
        tracker.observe(ids, logits=logits, targets=targets)
        track_in_a_loop(history, criterion, ids, logits, targets)
    for notion, expected in [("loss-average", np.mean), ("loss-variance", lambda x: np.var(x, ddof=1))]:
        found = tracker.importance(notion)[ids.numpy()]
        wanted = [expected(history[i]) for i in ids.tolist()]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    criterion = torch.nn.CrossEntropyLoss()
    ids = torch.randperm(2 * BATCH)[:BATCH]
    targets = torch.randint(CLASSES, (BATCH,))
    images = torch.randn(BATCH, 3, SIDE, SIDE)
    model = torchvision.models.resnet18(num_classes=CLASSES)
    check(ids, targets, criterion)

    def step():
        model.zero_grad(set_to_none=True)
        criterion(model(images), targets).backward()

    with torch.no_grad():
        logits = model(images)
        losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    everything = ["loss-variance", "forgetting", "confidence", "margin", "entropy", "el2n"]
    one, many, given = (impart.Tracker(2 * BATCH, notions)
                        for notions in (["loss-variance"], everything, ["loss-variance"]))
    history = collections.defaultdict(list)
    logits.requires_grad_(True)
    losses.requires_grad_(True)
    ways = {
        "loop over examples, from logits": lambda: track_in_a_loop(history, criterion, ids, logits,
                                                                   targets),
        "observe logits, loss-variance": lambda: one.observe(ids, logits=logits, targets=targets),
        "observe logits, six notions": lambda: many.observe(ids, logits=logits, targets=targets),
        "loop over examples, from losses": lambda: track_losses_in_a_loop(history, ids, losses),
        "observe losses, loss-variance": lambda: given.observe(ids, loss=losses),
    }
    seconds = {name: [] for name in ways}
    step()
    steps = []
    for _ in range(options.steps):
        steps.append(median_seconds(step, 1))
        for name, way in ways.items():
            way()
            seconds[name].append(median_seconds(way, options.rounds))
    step_seconds = statistics.median(steps)
    # What observing puts off until the epoch ends, for as many steps as were observed.
    observed = many.visits // BATCH
    put_off = median_seconds(lambda: many.start_epoch(1), 1) / observed
    print(f"torch {torch.__version__}, {options.threads} threads; a step of ResNet-18, batch "
          f"{BATCH}, {SIDE} x {SIDE}: {step_seconds * 1e3:.0f} ms")
    base = {}
    for name in ways:
        value = statistics.median(seconds[name])
        kind = "losses" if "losses" in name else "logits"
        base.setdefault(kind, value)
        print(f"{name:34} {value * 1e6:9.1f} us   {100 * value / step_seconds:7.4f} % of a step"
              f"   {base[kind] / value:7.1f} x the loop's speed")
    print(f"{'counting them, six notions':34} {put_off * 1e6:9.1f} us   "
          f"{100 * put_off / step_seconds:7.4f} % of a step, at the end of the epoch")


if __name__ == "__main__":
    main()
