"""Question 10: what tracking and deciding cost, docs/results/engine.md, from the rounds in experiments/costs:
python3 costs_test.py"""

import math
import statistics
import unittest

from answers import ROOT, check_claims, read_table, rows

PAGE = ROOT / "docs/results/engine.md"
MODELS = ["resnet18", "small-cnn"]
PUBLISHED = 1.1457  # of a step: 14.57 % of the prototype's time
ROWS = {"engine, no signals": ("without_signals", "bare", 3), "engine, tracking": ("tracking", "bare", 3),
        "tracking on / off": ("tracking", "without_signals", 4),
        "4 workers / 1 worker, same global batch": ("4_workers", "tracking", 3),
        "64 workers / 1 worker, same global batch": ("64_workers", "tracking", 3)}


def seconds(model):
    """By column."""
    table = read_table(f"experiments/costs/{model}.csv")
    return {name: [float(row[name]) for row in table] for name in table[0]}


def ratios(model, top, bottom):
    """Of neighbouring measurements."""
    columns = seconds(model)
    return [a / b for a, b in zip(columns[top], columns[bottom], strict=True)]


def ratio(model, top, bottom):
    return statistics.median(ratios(model, top, bottom))


def interval(values):
    """Of the median, at least 95 %: between two of the values, without a word on how they are spread."""
    ordered, n = sorted(values), len(values)
    rank, chance = 0, 0.0  # that so few lie below the median
    while chance + math.comb(n, rank) / 2 ** n <= 0.025:
        chance += math.comb(n, rank) / 2 ** n
        rank += 1
    return ordered[rank - 1], ordered[n - rank]


def decision_ms(notion):
    """Median of the repetitions."""
    return statistics.median(float(row["real_time"]) for row in read_table("experiments/costs/decisions.csv")
                             if row["name"] == f"repartition/{notion}/manual_time")


class Costs(unittest.TestCase):
    def test_the_table_is_that_of_the_rounds(self):
        table = {row[0]: row[1:] for row in rows(PAGE, "| | resnet18")}
        self.assertEqual(list(table), ["bare LibTorch loop", *ROWS])
        for model, text in zip(MODELS, table.pop("bare LibTorch loop"), strict=True):
            self.assertEqual(text, f"{1000 * statistics.median(seconds(model)['bare']):.0f} ms per step")
        for name, texts in table.items():
            for model, text in zip(MODELS, texts, strict=True):
                top, bottom, digits = ROWS[name]
                with self.subTest(f"{model}, {name}"):
                    self.assertTrue(text.strip("*").startswith(f"{ratio(model, top, bottom):.{digits}f}"), text)

    def test_the_sentences_are_those_of_the_rounds(self):
        tracking = f"{ratio('resnet18', 'tracking', 'without_signals'):.4f}"
        ends = [f"{end:.4f}" for model in MODELS for end in interval(ratios(model, "tracking", "without_signals"))]
        variance, average = (f"{decision_ms(f'loss-{kind}'):.1f}" for kind in ["variance", "average"])
        check_claims(self, PAGE, [
            ("| | resnet18 ({} rounds) | small-cnn ({} rounds) |", *(str(len(seconds(model)["bare"])) for model in MODELS)),
            ("takes {} ms by loss variance and {} by loss average", variance, average),
            ("between {} and {} for resnet18, {} and {} for small-cnn", *ends),
        ])
        check_claims(self, ROOT / "docs/answers/README.md", [
            ("tracking {} of a ResNet-18 step (the paper's prototype: {}); a decision over 50 000 examples {} ms",
             tracking, str(PUBLISHED), variance),
            ("{} rounds | tracking: {} … {}", str(len(seconds("resnet18")["bare"])), *ends[:2]),
        ])


if __name__ == "__main__":
    unittest.main()
