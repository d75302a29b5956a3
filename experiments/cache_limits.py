#!/usr/bin/env python3
"""How often caches could be hit beside infobatch, by what they know when they decide.

    experiments/cache_limits.py --data DATA/cifar10 --out OUT [--impart build/release/bin/impart]

Trains an MLP of 4 workers on 40 960 images of CIFAR-10 with infobatch (a share of 0.5), and
importance.history=true: `cosine` (a rate that falls by a cosine, images as they are, 20 epochs) and
`learning` (a constant rate, crops and flips, 6 epochs), each with room for half of the data and
`store.cache_policy: importance` (`measured`). Over the losses of each run caches of 10, 20 and 50 %
of the data then decide, each epoch's visits in a random order:

    side      before an epoch, by the losses up to then: on which side of the mean is the last one?
    order     the same, the highest of these losses first
    smoothed  before an epoch, by a moving average of the losses, the highest first
    visit     at each visit, by the side on which the loss is that it has just brought
    Belady    before an epoch, by the visits of the four that follow
    losses    every loss, later ones too, but not who will be drawn: an upper bound

Writes OUT/limits.csv, hits of every epoch in percent of its reads, and OUT/limits.md, their means
from the third epoch on and in the last quarter. What makes room for others goes after its visit, as
in store::CachePlan.
"""

import argparse
import csv
import pathlib

import numpy as np

from cache_hits import EXAMPLES, INFOBATCH, chosen
from runs import SHARING_CORES, count, read_lines, train, write_markdown

SETTINGS = {"cosine": (20, {"optimizer.schedule": "cosine", "data.augment": "none"}), "learning": (6, {})}
SHARES = [0.1, 0.2, 0.5]
HALF = 0.5
NEW_LOSS = 0.3  # its weight in the moving average
UNKNOWN = 1e9


class Losses:
    """What a run has found, by epoch: NaN where an example was not visited."""

    def __init__(self, path):
        self.found = np.load(path).T
        self.visited = ~np.isnan(self.found)
        self.last, self.smoothed = [], []
        last = smoothed = np.full(self.found.shape[1], UNKNOWN)
        for found, visited in zip(self.found, self.visited):
            self.last.append(last)
            self.smoothed.append(smoothed)
            mixed = np.where(smoothed == UNKNOWN, found, (1 - NEW_LOSS) * smoothed + NEW_LOSS * found)
            last, smoothed = np.where(visited, found, last), np.where(visited, mixed, smoothed)

    def side(self, epoch):
        last = self.last[epoch]
        known = last[last < UNKNOWN]
        return np.where(last < (known.mean() if len(known) else 0), 0.5, 1.0)

    def belady(self, epoch):
        later = self.visited[epoch + 1:epoch + 5]
        return sum((visits * 2.0 ** -k for k, visits in enumerate(later)), np.zeros(len(self.last[0])))


def take_in(held, kept, times, capacity):
    """What is held after an epoch: what comes takes free room, or that of what has gone before."""
    after = held.copy()
    room = capacity - np.count_nonzero(held)
    coming, leaving = np.flatnonzero(kept & ~held), np.flatnonzero(held & ~kept)
    leaving = list(leaving[np.argsort(-times[leaving])])
    for example in coming[np.argsort(times[coming])]:
        if room > 0:
            room -= 1
        elif leaving and times[leaving[-1]] < times[example]:
            after[leaving.pop()] = False
        else:
            continue
        after[example] = True
    return after


def plan(losses, worth_of, capacity):
    """Hits of each epoch of a cache that decides before it."""
    random = np.random.default_rng(1)
    held = np.zeros(EXAMPLES, bool)
    for epoch, visited in enumerate(losses.visited):
        yield 100 * np.count_nonzero(held & visited) / np.count_nonzero(visited)
        times = np.where(visited, random.random(EXAMPLES), -1)
        candidates = np.flatnonzero(held | visited)
        ranks = np.lexsort((times[candidates], ~held[candidates], -worth_of(epoch)[candidates]))
        kept = np.zeros(EXAMPLES, bool)
        kept[candidates[ranks[:capacity]]] = True
        held = take_in(held, kept, times, capacity)


def decide_at_visits(losses, capacity):
    """Hits of each epoch of a cache that decides at each visit: above the mean is kept."""
    random = np.random.default_rng(1)
    held, loss = np.zeros(EXAMPLES, bool), np.full(EXAMPLES, np.nan)
    for found, visited in zip(losses.found, losses.visited):
        yield 100 * np.count_nonzero(held & visited) / np.count_nonzero(visited)
        total, known = np.nansum(loss), np.count_nonzero(~np.isnan(loss))
        room = capacity - np.count_nonzero(held)
        free = list(np.flatnonzero(held & ~visited))  # below the mean, and not needed in this epoch
        for example in random.permutation(np.flatnonzero(visited)):
            is_new = np.isnan(loss[example])
            total += found[example] - (0 if is_new else loss[example])
            known += is_new
            loss[example] = found[example]
            is_hard = found[example] >= total / known
            if not held[example] and room > 0:
                held[example], room = True, room - 1
            elif not held[example] and is_hard and free:
                held[free.pop()] = False
                held[example] = True
            if held[example] and not is_hard:
                free.append(example)


def bound(losses, share):
    """Hits of each epoch of a cache that has whoever cannot be left out, and, if there is room, of the
    others, of whom one in two is visited: with infobatch twice as many as are left out."""
    for epoch, visited in enumerate(losses.visited):
        visits = visited.mean()
        hard = 2 * visits - 1
        hits = min(share, hard) + max(share - hard, 0) / 2
        yield 100 * hits / visits if epoch > 0 else 0.0  # nothing was read before


def hits_of(losses, share):
    capacity = round(share * EXAMPLES)
    yield "side", plan(losses, losses.side, capacity)
    yield "order", plan(losses, lambda epoch: losses.last[epoch], capacity)
    yield "smoothed", plan(losses, lambda epoch: losses.smoothed[epoch], capacity)
    yield "visit", decide_at_visits(losses, capacity)
    yield "Belady", plan(losses, losses.belady, capacity)
    yield "losses", bound(losses, share)


def run(arguments, setting):
    """The folder of the run, which is trained unless it is there."""
    output = arguments.out / "runs" / f"{setting}-{arguments.seed}"
    if not (output / "DONE").exists():
        arguments.epochs, changes = SETTINGS[setting]
        keys = {**chosen(arguments, HALF, {**INFOBATCH, **changes}), "seed": arguments.seed,
                "store.cache_policy": "importance", "importance.history": "true", "output": output}
        train(arguments.impart, keys, 1, SHARING_CORES)
    return output


def measured(folder):
    """Hits of each epoch of the run."""
    for line in read_lines(folder, "ledger.jsonl"):
        hits = count([line], "cache_hits")
        yield 100 * hits / (hits + count([line], "cache_misses"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impart", default="build/release/bin/impart", type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.impart, arguments.out = arguments.impart.resolve(), arguments.out.resolve()
    arguments.out.mkdir(parents=True, exist_ok=True)
    table, epochs = [], []
    for setting in SETTINGS:
        folder = run(arguments, setting)
        losses = Losses(folder / "history.npy")
        for share in SHARES:
            best = 100 * share / losses.visited[2:].mean()
            found = list(hits_of(losses, share))
            if share == HALF:
                found.append(("measured", measured(folder)))
            for knows, hits in found:
                hits = list(hits)
                epochs += [{"run": setting, "cache %": 100 * share, "knows": knows, "epoch": epoch + 1,
                            "hits %": round(value, 2)} for epoch, value in enumerate(hits)]
                table.append({"run": setting, "cache %": 100 * share, "knows": knows,
                              "all visited %": best, "hits %": float(np.mean(hits[2:])),
                              "last quarter %": float(np.mean(hits[-(len(hits) // 4):]))})
    with open(arguments.out / "limits.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, epochs[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(epochs)
    write_markdown(arguments.out / "limits.md", table)


if __name__ == "__main__":
    main()
