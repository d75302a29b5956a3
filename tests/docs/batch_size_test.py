"""What experiments/batch-size/stages.py makes of runs whose curve is known, and of runs that never came there:
python3 batch_size_test.py"""

import contextlib
import io
import math
import pathlib
import random
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments" / "batch-size"))

import stages  # noqa: E402

WORKERS, EXAMPLES = 4, 4096
BATCHES = [32, 64, 128, 256, 512, 1024]


def run(seed, batch, steps, epochs):
    """One that ends at the target, or after so many epochs."""
    ended = epochs * math.ceil(EXAMPLES / batch)
    return stages.Run(seed, batch, steps if steps <= ended else math.inf, ended)


def on_curve(least, critical, epochs=1000, seed=11):
    return [run(seed, batch, least * (1 + critical / batch), epochs) for batch in BATCHES]


def said(runs):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        stages.report(runs)
    return out.getvalue()


def confirmed(criticals, epochs=1000):
    """Five seeds of each placement, whose critical batches are up to three percent apart."""
    def of(placement, critical, seed):
        return critical * random.Random(f"{placement} {seed}").uniform(0.985, 1.015)
    return {(placement, batch // WORKERS, 0.1):
            [run(seed, batch, 100 * (1 + of(placement, critical, seed) / batch), epochs)
             for seed in stages.SEEDS["confirm"]] for placement, critical in criticals.items() for batch in BATCHES}


class Stages(unittest.TestCase):
    def test_a_curve_is_found_again(self):
        found = stages.fit(on_curve(100, 200))
        self.assertAlmostEqual(found.least, 100, delta=0.1)
        self.assertAlmostEqual(found.critical, 200, delta=0.2)

    def test_a_run_that_missed_the_target_keeps_its_curve_above_where_it_ended(self):
        runs = on_curve(100, 200)
        late = runs[:-1] + [runs[-1]._replace(steps=math.inf, ended=400)]
        self.assertGreater(stages.fit(late).least, 110)
        soon = runs[:-1] + [runs[-1]._replace(steps=math.inf, ended=50)]
        self.assertAlmostEqual(stages.fit(soon).critical, stages.fit(runs[:-1]).critical, delta=1)

    def test_a_critical_batch_size_beyond_all_batches_is_not_a_number(self):
        self.assertIn("above", stages.fit(on_curve(10, 5000)))
        self.assertIn("below", stages.fit(on_curve(100, 5)))

    def test_two_batch_sizes_are_no_curve(self):
        runs = on_curve(100, 200)
        missed = [one._replace(steps=math.inf) for one in runs[2:]]
        self.assertIn("fewer than 3", stages.fit(runs[:2] + missed))

    def test_the_slope_needs_all_of_the_smallest(self):
        runs = on_curve(1, 1e9, epochs=10**9)
        self.assertAlmostEqual(stages.slope(runs), -1, delta=1e-5)
        self.assertIsInstance(stages.slope([runs[0]._replace(steps=math.inf)] + runs[1:]), str)

    def test_a_rate_that_mostly_missed_is_not_the_best(self):
        half = [run(2, 32, 500, 10), run(3, 32, 10**6, 10)]
        whole = [run(2, 32, 900, 10), run(3, 32, 900, 10)]
        runs = {("random", 8, 0.1): whole, ("random", 8, 0.2): half}
        self.assertEqual(stages.best_rate(runs, "random", 8), (0.1, -1))
        self.assertEqual(stages.best_rate({("random", 8, 0.2): half}, "random", 8)[0], None)

    def test_a_best_rate_at_the_edge_is_followed_and_named(self):
        tuned = {("random", 8, rate): [run(1, 32, steps, 10)] for rate, steps in [(0.1, 900), (0.2, 800)]}
        tried = {("blocks", 8, rate): [run(2, 32, steps, 10)] for rate, steps in [(0.1, 900), (0.2, 800), (0.4, 700)]}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            points = stages.narrow([8], [], {"tune": tuned, "narrow": tried})
        self.assertIn("0.2 is the best rate of tune and at its edge", out.getvalue())
        self.assertIn(("blocks", 8, 0.8), points)
        self.assertNotIn(("random", 8, 0.8), points)

    def test_a_shifted_critical_batch_size_is_seen(self):
        text = said(confirmed({"random": 200, "stripes": 200, "blocks": 260}))
        self.assertRegex(text, r"stripes: critical batch (0.99|1.0\d) \(0.9\d … 1.0\d\), Holm p [01].[0-9]")
        self.assertRegex(text, r"blocks: critical batch 1.(29|3\d) \(1.2\d … 1.3\d\), Holm p 0.00")

    def test_what_cannot_be_fitted_is_said_with_its_reason(self):
        text = said(confirmed({"random": 200, "stripes": 200, "blocks": 5000}))
        self.assertIn("blocks: no fit with seed 11: critical batch above all batch sizes", text)
        self.assertIn("blocks: critical batch cannot be compared", text)


if __name__ == "__main__":
    unittest.main()
