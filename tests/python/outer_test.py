#!/usr/bin/env python3
"""impart.outer_step: the published rules, on one rank and on two.

    PYTHONPATH=build/dev/python python3 outer_test.py
"""

import os
import pathlib
import tempfile
import unittest

import impart

try:
    import torch
    import torch.distributed as distributed
    import torch.multiprocessing as multiprocessing
except ImportError:
    torch = None

SHAPES = [(3, 2), (5,)]
STEPS = 3
INNER_LR = 0.05
VISITS = [[30, 30, 10], [30, 20, 40]]  # of two ranks, before each outer step


def weights_of(seed):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=draw) for shape in SHAPES]


def inner_change(rank, step):
    """What a rank subtracts from its weights on its own."""
    return [0.1 * tensor for tensor in weights_of(100 + 10 * rank + step)]


def published(rule, ranks):
    """The common weights after STEPS outer steps, in double."""
    start = [tensor.double() for tensor in weights_of(1)]
    velocity = [torch.zeros_like(tensor) for tensor in start]
    for step in range(STEPS):
        visits = [VISITS[rank][step] for rank in range(ranks)]
        for i in range(len(SHAPES)):
            change = sum(count * inner_change(rank, step)[i].double()
                         for rank, count in enumerate(visits)) / sum(visits)
            if rule == "average":
                start[i] = start[i] - change
            elif rule == "nesterov":
                velocity[i] = 0.9 * velocity[i] + change
                start[i] = start[i] - 0.7 * (change + 0.9 * velocity[i])
            else:
                velocity[i] = 0.7 * velocity[i] + change / INNER_LR
                start[i] = start[i] - INNER_LR * velocity[i]
    return start


def take_steps(rule, rank=0):
    weights = weights_of(1)
    state = impart.outer_state(weights)
    for step in range(STEPS):
        for weight, change in zip(weights, inner_change(rank, step)):
            weight -= change
        impart.outer_step(weights, state, rule, visits=VISITS[rank][step], inner_lr=INNER_LR)
    return weights


def run_rank(rank, folder):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.save({row.name: take_steps(row.name, rank) for row in impart.outers()},
               f"{folder}/rank-{rank}.pt")
    distributed.barrier()
    distributed.destroy_process_group()


@unittest.skipIf(torch is None, "torch is not installed")
class OuterStep(unittest.TestCase):
    def assert_close(self, found, expected):
        for a, b in zip(found, expected):
            self.assertLess((a.double() - b).abs().max().item(), 1e-5)

    def test_is_as_published(self):
        for row in impart.outers():
            with self.subTest(row.name):
                self.assert_close(take_steps(row.name), published(row.name, 1))

    def test_weighs_two_ranks_by_their_visits_and_leaves_them_equal(self):
        with tempfile.TemporaryDirectory() as folder:
            multiprocessing.spawn(run_rank, (folder,), nprocs=2)
            ranks = [torch.load(pathlib.Path(folder) / f"rank-{rank}.pt") for rank in range(2)]
        for row in impart.outers():
            with self.subTest(row.name):
                self.assert_close(ranks[0][row.name], published(row.name, 2))
                for a, b in zip(ranks[0][row.name], ranks[1][row.name]):
                    self.assertTrue(torch.equal(a, b))

    def test_without_momentum_is_the_average_bit_for_bit(self):
        for rule, rates in [("average", {}), ("nesterov", {"lr": 1, "momentum": 0})]:
            weights = weights_of(1)
            state = impart.outer_state(weights)
            changed = [weight.sub_(1 / 3).clone() for weight in weights]
            impart.outer_step(weights, state, rule, **rates)
            for weight, expected in zip(weights, changed):
                self.assertTrue(torch.equal(weight, expected), rule)

    def test_changes_parameters_of_a_model_in_place(self):
        model = torch.nn.Linear(3, 2)
        state = impart.outer_state(model.parameters())
        with torch.no_grad():
            model.weight -= 1
        places = [parameter.data_ptr() for parameter in model.parameters()]
        impart.outer_step(model.parameters(), state)
        self.assertEqual(places, [parameter.data_ptr() for parameter in model.parameters()])
        self.assertTrue(torch.equal(model.weight, state["start"][0]))
        self.assertTrue(model.weight.requires_grad)

    def test_says_what_is_wrong(self):
        weights = weights_of(1)
        state = impart.outer_state(weights)
        for message, call in [
                ("did you mean 'nesterov'", lambda: impart.outer_step(weights, state, "nesterow")),
                ("slowmo' needs inner_lr", lambda: impart.outer_step(weights, state, "slowmo")),
                ("of other parameters", lambda: impart.outer_step(weights[:1], state))]:
            with self.assertRaisesRegex(impart.ConfigError, message):
                call()


if __name__ == "__main__":
    unittest.main()
