"""Samplers of several ranks in one process, for tests."""

import numpy as np

import impart

N = 37


def loss_of(ids, epoch):
    """A loss that depends on nothing else."""
    ids = np.asarray(ids)
    return (np.sin(ids * 12.9898 + epoch * 78.233) + 1.5).astype(np.float32)


class Ranks:
    """Samplers of all ranks in one process: every tracker is given the visits of all."""

    def __init__(self, world_size, examples=N, notions=("loss-variance", "loss-last"), **options):
        self.trackers = [impart.Tracker(examples, list(notions)) for _ in range(world_size)]
        self.samplers = [
            impart.ImportanceSampler(examples, tracker, rank=rank, world_size=world_size,
                                     **{"warmup": 2, "interval": 2, "seed": 5, **options})
            for rank, tracker in enumerate(self.trackers)]

    def train(self, epoch, **options):
        """Each rank's visits of an epoch."""
        for sampler in self.samplers:
            sampler.set_epoch(epoch, synchronise=False, **options)
        visits = [list(sampler) for sampler in self.samplers]
        everything = np.unique(np.concatenate([np.array(ids, int) for ids in visits]))
        for tracker in self.trackers:
            tracker.observe(everything, loss=loss_of(everything, epoch))
        return visits
