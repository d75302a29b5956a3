"""Seeds that are added as results come in, and how many are needed: seeds_test.py path/to/impart"""

import json
import math
import random
import shutil
import statistics
import subprocess
import time
import unittest

from studies import IMPART, StudyTest

GROWING = """
name: growing
config: {epochs: 2, importance.ignore: 0, partition.warmup: 1, partition.interval: 1, data.train_examples: 100}
arms:
  vanilla: {baseline: true, partition.heuristic: random}
  stripes: {partition.heuristic: stripes}
seeds: {until: UNTIL, at_most: 8, at_least: 2, master: 7}
jobs: 2
output: study
"""
LOOKS = [2, 4, 8]


def t_quantile(tail, degrees):
    """Student's t that is exceeded with probability `tail`, by Simpson's rule and bisection."""
    scale = math.gamma((degrees + 1) / 2) / math.gamma(degrees / 2) / math.sqrt(degrees * math.pi)

    def beyond(t, steps=4000):
        width = t / steps
        sums = sum((4 if i % 2 else 2 if 0 < i < steps else 1)
                   * (1 + (i * width) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(steps + 1))
        return 0.5 - scale * sums * width / 3

    low, high = 0.0, 200.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > tail else (low, middle)
    return low


class SeedsTest(StudyTest):
    def differences(self, seeds):
        def value(arm, seed):
            return json.loads((self.study / f"runs/{arm}/{seed}/summary.json").read_text())["best_accuracy"]
        return [value("stripes", seed) - value("vanilla", seed) for seed in seeds]

    def expected_half_width(self, seeds):
        differences = self.differences(seeds)
        t = t_quantile(0.05 / len(LOOKS) / 2, len(seeds) - 1)
        return t * statistics.stdev(differences) / math.sqrt(len(seeds))


class GrowingSeeds(SeedsTest):
    def test_are_added_until_the_intervals_are_narrow_enough(self):
        name = self.write(GROWING.replace("UNTIL", "15"))
        out, _ = self.succeed(name, "--dry-run")
        self.assertIn("0 of 4 runs done", out)
        self.assertIn("until every paired interval is within ± 15; looks after 2, 4, 8", out)
        out, _ = self.succeed(name)
        record = self.record()
        growing = record["growing"]
        self.assertEqual(growing["planned"], LOOKS)
        self.assertEqual(growing["until"], 15)
        widths = [look["half_width"] for look in growing["taken"]]
        for look in growing["taken"]:
            expected = self.expected_half_width(record["seeds"][:look["seeds"]])
            self.assertAlmostEqual(look["half_width"] / expected, 1, 6)
            self.assertEqual(look["arm"], "stripes")
        self.assertEqual([look["seeds"] for look in growing["taken"]], LOOKS[:len(widths)])
        self.assertLess(widths[-1], 15)
        self.assertTrue(all(width >= 15 for width in widths[:-1]), widths)
        self.assertEqual(len(widths), 2, "this test is about a study that stops in the middle")
        self.assertEqual(len(self.results()), 8)
        self.assertIn("after 4 seeds the widest interval is ± ", out)
        self.assertIn("enough", out)
        self.succeed(name)
        self.assertEqual(len(self.calls()), 8, "a study that has enough adds nothing")
        subprocess.run([IMPART, "report", "study"], cwd=self.folder, check=True, capture_output=True)
        self.assertIn("claims are corrected for 3 planned looks", (self.study / "report/report.md").read_text())
        self.write(GROWING.replace("UNTIL", "15").replace("at_most: 8", "at_most: 16"))
        self.fail_with(2, "was planned to look at its results after 2, 4, 8 seeds", name)

    def test_end_at_most_where_they_were_told_to(self):
        out, _ = self.succeed(self.write(GROWING.replace("UNTIL", "0.001")))
        self.assertEqual([look["seeds"] for look in self.record()["growing"]["taken"]], LOOKS)
        self.assertEqual(len(self.results()), 16)
        self.assertIn("at_most allows no more seeds", out)

    def test_do_not_wait_for_an_arm_that_fails(self):
        self.behave({"stripes": {"fail": "no"}})
        code, out, _ = self.run_study(self.write(GROWING.replace("UNTIL", "15")))
        self.assertEqual(code, 1)
        self.assertIn("after 2 seeds no arm has two pairs", out)
        self.assertEqual(len(self.calls()), 4)

    def test_are_the_same_after_kills(self):
        name = self.write(GROWING.replace("UNTIL", "15"))
        self.succeed(name, "output=unbroken")
        draw = random.Random(5)
        self.behave({"*": {"epoch_seconds": 0.05}})
        for _ in range(6):
            process = self.start(name)
            time.sleep(draw.uniform(0.05, 0.5))
            process.kill()
            process.communicate()
        self.behave({})
        self.succeed(name)
        unbroken = json.loads((self.folder / "unbroken/study.json").read_text())
        self.assertEqual(self.record(), unbroken)


class SeedsNeeded(SeedsTest):
    def test_are_told_from_the_runs_so_far(self):
        name = self.write(GROWING.replace("{until: UNTIL, at_most: 8, at_least: 2, master: 7}", "[1, 2]"))
        self.fail_with(2, "study has no runs yet", name, "--power", 0.5)
        self.fail_with(2, "--power: '0' is no number above 0", name, "--power", 0)
        self.fail_with(2, "--jobs: 'some' is neither auto nor a number", name, "--jobs", "some")
        self.succeed(name)
        out, _ = self.succeed(name, "--power", 0.5)
        self.assertIn("fewer than 3 pairs with the baseline 'vanilla'", out)
        self.write(GROWING.replace("{until: UNTIL, at_most: 8, at_least: 2, master: 7}", "[1, 2, 3, 4]"))
        self.succeed(name)
        out, _ = self.succeed("study", "--power", 5, "--json")
        plan = json.loads(out)
        arm, = plan["arms"]
        self.assertEqual((arm["name"], arm["pairs"], plan["level"]), ("stripes", 4, 0.05))
        self.assertAlmostEqual(arm["std"], statistics.stdev(self.differences([1, 2, 3, 4])))
        # Normal theory, which is a little too hopeful for few seeds.
        about = ((1.96 + 0.8416) * arm["std"] / 5) ** 2
        self.assertGreater(arm["seeds"], about)
        self.assertLess(arm["seeds"], about + 4)
        self.assertGreater(arm["seeds_at_worst"], arm["seeds"])
        out, _ = self.succeed(name, "--power", 5)
        self.assertIn("To see a difference of 5 in best_accuracy with probability 0.8", out)
        self.assertRegex(out, rf"stripes +4 .* {arm['seeds']} +{arm['seeds_at_worst']}\n")

    def test_are_told_from_a_file_of_results_alone(self):
        name = self.write(GROWING.replace("{until: UNTIL, at_most: 8, at_least: 2, master: 7}", "[1, 2, 3, 4]"))
        self.succeed(name, "--results", "kept.csv")
        expected = self.succeed(name, "--power", 5)
        shutil.rmtree(self.folder / "study")
        self.fail_with(2, "study has no runs yet", name, "--power", 5)
        self.fail_with(2, "study has no runs yet", name, "--results", "kpet.csv", "--power", 5)
        self.assertEqual(self.succeed(name, "--results", "kept.csv", "--power", 5)[0], expected[0])
        out, _ = self.succeed(name, "--results", "kept.csv", "--status")
        self.assertIn("8 of 8 runs done", out)
        self.assertFalse((self.folder / "study").exists())


if __name__ == "__main__":
    unittest.main()
