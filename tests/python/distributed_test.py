#!/usr/bin/env python3
"""Two processes with torch.distributed (gloo): exact cover, equal tables, resuming.

    PYTHONPATH=build/dev/python python3 distributed_test.py
"""

import os
import pathlib
import pickle
import tempfile
import unittest

import numpy as np

import impart

try:
    import torch
    import torch.distributed as distributed
    import torch.multiprocessing as multiprocessing
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, TensorDataset
except ImportError:
    torch = None

N, BATCH, EPOCHS, RANKS = 61, 8, 4, 2
NOTIONS = ["loss-variance", "forgetting", "loss-ema"]


def make_data():
    random = np.random.default_rng(0)
    x = torch.tensor(random.normal(size=(N, 6))).float()
    return TensorDataset(x, (x[:, 0] > 0).long())


def make_sampler(seed=7, **options):
    tracker = impart.Tracker(N, NOTIONS)
    return tracker, impart.ImportanceSampler(
        N, tracker, "stripes", **{"warmup": 1, "interval": 1, "seed": seed, **options})


def train(rank, folder, loader_workers, stop=None, resume=False):
    """What this rank visited; with `stop` = (epoch, step), it leaves its state there."""
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(6, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    tracker, sampler = make_sampler()
    loader = DataLoader(impart.IndexedDataset(make_data()), batch_size=BATCH, sampler=sampler,
                        num_workers=loader_workers,
                        multiprocessing_context="forkserver" if loader_workers else None)
    if resume:
        state = torch.load(folder / f"state-{rank}.pt")
        sampler.load_state_dict(state["sampler"])
        model.load_state_dict(state["model"])
    visits, signals = [], []
    for epoch in range(sampler.next_epoch, EPOCHS):
        sampler.set_epoch(epoch)
        for step, (ids, x, y) in enumerate(loader):
            if stop == (epoch, step):
                torch.save({"sampler": sampler.state_dict(), "model": model.state_dict()},
                           folder / f"state-{rank}.pt")
                break
            logits = model(x)
            tracker.observe(ids, logits=logits, targets=y)
            visits.append((epoch, ids.tolist()))
            signals.append((logits.detach().numpy().copy(), y.numpy().copy()))
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, y).backward()
            optimizer.step()
        else:
            continue
        break
    if stop is None:
        tracker.synchronise()
    return {"visits": visits, "signals": signals, "table": tracker.state_dict()["table"],
            "importance": {notion: tracker.importance(notion) for notion in NOTIONS}}


def train_twice(rank, folder, loader_workers):
    """The second time from where the first was stopped."""
    first = train(rank, folder, loader_workers, stop=(2, 2))
    return first, train(rank, folder, loader_workers, resume=True)


def disagree(rank, folder):
    """Ranks with different seeds."""
    _, sampler = make_sampler(seed=rank)
    try:
        sampler.set_epoch(0)
    except impart.ConfigError as error:
        return str(error)
    return "nothing"


def ask_for_the_length(rank, folder):
    """What one rank asks for must not change who waits for whom."""
    _, sampler = make_sampler()
    if rank == 0:
        len(sampler)
    sampler.set_epoch(0)
    return len(sampler)


def wait_for_others(rank, folder):
    """What a rank knows before it synchronises, and who may not close a window."""
    tracker = impart.Tracker(4, ["loss-average"])
    tracker.observe([rank], loss=np.array([1.0 + rank]))
    before = tracker.importance()
    state = tracker.state_dict()
    try:
        tracker.close_window()
        said = "nothing"
    except impart.ConfigError as error:
        said = str(error)
    tracker.merge()
    both = tracker.importance()
    if rank == 0:  # the only one that has anything to say
        tracker.observe([3], loss=np.array([9.0]))
    tracker.synchronise()
    return before, state["rank"], said, both, tracker.importance()


JOBS = {
    "alone": lambda *args: train(*args, loader_workers=0),
    "with workers": lambda *args: train(*args, loader_workers=2),
    "resumed": lambda *args: train_twice(*args, loader_workers=0),
    "resumed with workers": lambda *args: train_twice(*args, loader_workers=2),
    "disagree": disagree,
    "length": ask_for_the_length,
    "wait": wait_for_others,
}


def run_rank(rank, folder):
    """All jobs in one pair of processes: starting torch takes longer than they do."""
    torch.set_num_threads(1)
    # Loaders' workers are forked from a process without gloo's threads, which has torch already.
    multiprocessing.set_forkserver_preload(["impart", "torch.utils.data"])
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank,
                                   world_size=RANKS)
    for name, job in JOBS.items():
        (folder / f"{name}-{rank}").write_bytes(pickle.dumps(job(rank, folder)))
    # torch 1.13 may wait for ever in destroy_process_group: it joins gloo's threads with the
    # interpreter's lock, which one of them may need to free a tensor.
    distributed.barrier()
    os._exit(0)


@unittest.skipIf(torch is None or not torch.distributed.is_available(), "needs torch.distributed")
class DistributedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        folder = pathlib.Path(made.name)
        multiprocessing.spawn(run_rank, (folder,), RANKS)
        cls.results = {name: [pickle.loads((folder / f"{name}-{rank}").read_bytes())
                              for rank in range(RANKS)] for name in JOBS}

    def check_run(self, ranks):
        """Exact cover, the orders of one process with two workers, and equal tables."""
        tracker, alone = make_sampler(workers=RANKS, rank=0, world_size=1)
        batches = impart.ImportanceBatchSampler(alone, BATCH)
        for epoch in range(EPOCHS):
            batches.set_epoch(epoch)
            mine = [[ids for at, ids in rank["visits"] if at == epoch] for rank in ranks]
            self.assertEqual([sum(a + b, []) for a, b in zip(*[[[x] for x in m] for m in mine])],
                             list(batches))
            seen = [np.concatenate(ids) for ids in mine]
            self.assertEqual(sorted(set(np.concatenate(seen))), list(range(N)))
            self.assertEqual([len(ids) for ids in seen], [31, 31])  # one of them repeats one
            for rank in ranks:
                for (at, ids), (logits, y) in zip(rank["visits"], rank["signals"]):
                    if at == epoch:
                        tracker.observe(ids, logits=logits, targets=y)
        tracker.synchronise()
        self.assertEqual(ranks[0]["table"], ranks[1]["table"])
        for notion in NOTIONS:
            np.testing.assert_array_equal(ranks[0]["importance"][notion],
                                          ranks[1]["importance"][notion])
            np.testing.assert_array_equal(ranks[0]["importance"][notion],
                                          tracker.importance(notion))

    def test_training_with_a_loader_without_workers(self):
        self.check_run(self.results["alone"])

    def test_training_with_a_loader_with_two_workers(self):
        self.check_run(self.results["with workers"])

    def test_resuming_in_mid_epoch(self):
        for name in ["resumed", "resumed with workers"]:
            for whole, (first, second) in zip(self.results["alone"], self.results[name]):
                self.assertEqual(first["visits"] + second["visits"], whole["visits"])
                self.assertEqual(second["table"], whole["table"])
                self.assertEqual(first["visits"][-1][0], 2)
                self.assertEqual(second["visits"][0][0], 2)

    def test_ranks_that_disagree_are_told(self):
        for said in self.results["disagree"]:
            self.assertIn("the ranks disagree", said)

    def test_one_rank_may_ask_for_its_length_first(self):
        self.assertEqual(self.results["length"], [31, 31])

    def test_what_a_rank_knows(self):
        results = self.results["wait"]
        for rank, (before, saved_by, said, both, last) in enumerate(results):
            self.assertEqual(before.tolist(), [1.0 + rank] * 4)
            self.assertEqual(saved_by, rank)
            self.assertIn("synchronise() on all ranks", said)
            self.assertEqual(both.tolist(), [1, 2, 1.5, 1.5])
            self.assertEqual(last.tolist(), [1, 2, 4, 9])


if __name__ == "__main__":
    unittest.main()
