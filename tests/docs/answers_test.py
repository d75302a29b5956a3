"""Numbers of docs/answers stand on the pages that their rows link, and tables of studies are those of
the results kept in git: python3 answers_test.py"""

import csv
import itertools
import math
import operator
import pathlib
import re
import statistics
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANSWERS = ROOT / "docs" / "answers" / "README.md"
NUMBER = re.compile(r"(?<![\w.])\d+(?: \d{3})*(?:\.\d+)?(?![\w.]*\d)")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#]*)[^)]*\)")
NOT_RUN = "not run yet"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(page, head):
    """The rows of the table whose head begins so, as lists of cells."""
    lines = page.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(head))
    table = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        table.append(cells(line))
    return table


def numbers(text):
    """As written, without links' targets and thin blanks between thousands."""
    return NUMBER.findall(LINK.sub(r"\1", text))


class Answers(unittest.TestCase):
    def test_there_is_a_row_for_each_of_the_ten_questions(self):
        table = rows(ANSWERS, "| | question |")
        self.assertEqual([row[0] for row in table], [str(i) for i in range(1, 11)])
        for row in table:
            with self.subTest(row[1]):
                self.assertTrue(row[1].endswith("?"))
                if row[2] == NOT_RUN:
                    self.assertEqual(row[3:], ["", "", ""])
                else:
                    self.assertTrue(all(row[2:]), "an answer has n, an interval or p, and a source")

    def test_every_number_stands_on_a_page_that_its_row_links(self):
        checked = 0
        for row in rows(ANSWERS, "| | question |"):
            # What was not run says what would be: those numbers are plans.
            claims = [part for part in re.split(r"[;.] ", " | ".join(row[2:5])) if NOT_RUN not in part]
            pages = [(ANSWERS.parent / target).resolve() for _, target in LINK.findall(" ".join(row))]
            text = "\n".join(page.read_text() for page in pages)
            for number in numbers(" ".join(claims)):
                with self.subTest(f"question {row[0]}: {number}"):
                    self.assertRegex(text, rf"(?<![\d.]){re.escape(number)}(?!\d|\.\d)")
                    checked += 1
        self.assertGreater(checked, 20)


def beyond(t, degrees, steps=2000):
    """How likely Student's t is to exceed t, by Simpson's rule."""
    scale = math.gamma((degrees + 1) / 2) / math.gamma(degrees / 2) / math.sqrt(degrees * math.pi)
    width = t / steps
    return 0.5 - scale * width / 3 * sum(
        (4 if i % 2 else 2 if 0 < i < steps else 1)
        * (1 + (i * width) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(steps + 1))


def quantile_of_t(degrees, tail=0.025):
    low, high = 0.0, 100.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle, degrees) > tail else (low, middle)
    return low


class FastRecipe(unittest.TestCase):
    """Who trains on what, on one GPU: every number of the table, from the runs."""

    def setUp(self):
        self.values = {}
        with open(ROOT / "experiments/gpu/results/fast94.csv", newline="") as file:
            for run in csv.DictReader(file):
                self.values.setdefault(run["arm"], {})[run["seed"]] = float(run["final_accuracy"])

    def differences(self, arm):
        base = self.values["vanilla"]
        return [value - base[seed] for seed, value in self.values[arm].items() if seed in base]

    def test_the_table_is_that_of_the_runs(self):
        table = rows(ROOT / "docs/results/gpu.md", "| arm | n | accuracy |")
        self.assertEqual({row[0] for row in table}, set(self.values))
        chances = {}
        for arm, n, mean, deviation, paired, _ in table:
            with self.subTest(arm):
                own = list(self.values[arm].values())
                self.assertEqual(int(n), len(own))
                self.assertEqual(mean.strip("*"), f"{statistics.mean(own):.2f}")
                self.assertEqual(deviation, f"{statistics.stdev(own):.2f}")
                if arm == "vanilla":
                    continue
                pairs = self.differences(arm)
                error = statistics.stdev(pairs) / math.sqrt(len(pairs))
                middle = statistics.mean(pairs)
                half = quantile_of_t(len(pairs) - 1) * error
                self.assertEqual(paired, f"{middle:.3f} ± {half:.3f}".replace("-", "−"))
                chances[arm] = 2 * beyond(abs(middle) / error, len(pairs) - 1)
        smallest = min(chances, key=chances.get)  # Holm: of two, the smaller counts twice
        for arm, *_, written in table:
            if arm in chances:
                adjusted = 2 * chances[arm] if arm == smallest else chances[arm]
                self.assertAlmostEqual(float(written), adjusted, delta=0.006)


class Selection(unittest.TestCase):
    """Which visits can be saved: every number of the table, from the runs."""

    def flipped(self, pairs):
        """How many of all choices of signs give a mean as far from 0."""
        found = abs(sum(pairs)) - 1e-9
        signs = itertools.product([1, -1], repeat=len(pairs))
        return sum(abs(sum(map(operator.mul, sign, pairs))) >= found for sign in signs) / 2 ** len(pairs)

    def test_the_table_is_that_of_the_runs(self):
        runs = {}
        with open(ROOT / "experiments/gpu/results/selection-fast94.csv", newline="") as file:
            for run in csv.DictReader(file):
                runs.setdefault(run["arm"], {})[run["seed"]] = run
        table = rows(ROOT / "docs/answers/selection.md", "| setting | n | accuracy |")
        self.assertEqual({row[0] for row in table}, set(runs))
        chances, written = {}, {}
        for arm, n, accuracy, difference, interval, p, visits, seconds in table:
            with self.subTest(arm):
                value = lambda name: [float(run[name]) for run in runs[arm].values()]
                own = value("best_accuracy")
                self.assertEqual(int(n), len(own))
                self.assertEqual(accuracy, f"{statistics.mean(own):.3f} ± {statistics.stdev(own):.3f}")
                self.assertEqual(visits, f"{statistics.mean(value('visits')):,.0f}".replace(",", " "))
                self.assertEqual(seconds, f"{statistics.mean(value('seconds_train')):.2f} s")
                if arm == "vanilla":
                    continue
                base = runs["vanilla"]
                pairs = [float(run["best_accuracy"]) - float(base[seed]["best_accuracy"])
                         for seed, run in runs[arm].items() if seed in base]
                middle = statistics.mean(pairs)
                half = quantile_of_t(len(pairs) - 1) * statistics.stdev(pairs) / math.sqrt(len(pairs))
                signed = lambda number: f"{number:+.3f}".replace("-", "−")
                self.assertEqual(difference, signed(middle))
                self.assertEqual(interval, f"{signed(middle - half)} … {signed(middle + half)}")
                chances[arm], written[arm] = self.flipped(pairs), float(p)
        adjusted = 0
        for rank, arm in enumerate(sorted(chances, key=chances.get)):  # Holm
            adjusted = max(adjusted, (len(chances) - rank) * chances[arm])
            self.assertAlmostEqual(written[arm], adjusted, delta=0.0006)


if __name__ == "__main__":
    unittest.main()
