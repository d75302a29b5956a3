"""docs/answers/notions.md: its table and sentences again from the runs in experiments/notions: python3 notions_test.py"""

import unittest

from answers import ROOT, Paired, check_claims, check_corrected, column, holm, read_runs, rows, signed, spread

PAGE = ROOT / "docs/answers/notions.md"
VALUE = "best_accuracy"
RUNS = read_runs("experiments/notions/cpu.csv")
PAIRED = {arm: Paired(runs, RUNS["vanilla"]) for arm, runs in RUNS.items() if arm != "vanilla"}
CORRECTED = holm({arm: paired.p for arm, paired in PAIRED.items()})
MARGIN = 0.1  # points: "not worse by"
HEURISTICS = ["stripes", "blocks", "graded-blocks"]


def of_heuristic(name):
    """By seed, the mean over the notions."""
    arms = [runs for arm, runs in RUNS.items() if arm.split()[-1] == name]
    return {seed: {VALUE: sum(float(runs[seed][VALUE]) for runs in arms) / len(arms)} for seed in arms[0]}


class Notions(unittest.TestCase):
    def test_all_settings_have_the_same_seeds(self):
        self.assertEqual(len(PAIRED), 45)
        self.assertEqual({tuple(runs) for runs in RUNS.values()}, {tuple(RUNS["vanilla"])})

    def test_the_table_is_that_of_the_runs(self):
        table = {row[0]: row[1:] for row in rows(PAGE, "| setting | accuracy |")}
        self.assertEqual(list(table), ["vanilla", *sorted(PAIRED, key=lambda arm: -PAIRED[arm].mean)])
        for arm, (accuracy, *compared) in table.items():
            with self.subTest(arm):
                self.assertEqual(accuracy, spread(column(RUNS[arm], VALUE), 2))
                if arm != "vanilla":
                    self.assertEqual(compared[:2], [signed(PAIRED[arm].mean, 2), PAIRED[arm].interval(2)])
        check_corrected(self, {arm: row[-1] for arm, row in table.items() if arm != "vanilla"},
                        {arm: paired.p for arm, paired in PAIRED.items()}, delta=0.006)

    def test_the_means_of_heuristics_are_those_of_the_runs(self):
        table = rows(PAGE, "| heuristic | difference |")
        self.assertEqual([row[0] for row in table], HEURISTICS)
        chances, written = {}, {}
        for name, difference, interval, p in table:
            paired = Paired(of_heuristic(name), RUNS["vanilla"])
            self.assertEqual([difference, interval], [signed(paired.mean, 3), paired.interval(3)], name)
            chances[name], written[name] = paired.p, p
        check_corrected(self, written, chances)

    def test_sentences_are_computed(self):
        halves = [paired.half for paired in PAIRED.values()]
        surest = min(CORRECTED, key=CORRECTED.get)
        not_worse = holm({arm: paired.not_worse(MARGIN) for arm, paired in PAIRED.items()})
        check_claims(self, PAGE, [
            ("half-widths of the intervals are {} to {} points", f"{min(halves):.2f}", f"{max(halves):.2f}"),
            ("the surest of them, {}, has a Holm p of {}", surest, f"{CORRECTED[surest]:.2f}"),
            ("{} of 45 are better than vanilla, {} worse", str(sum(paired.mean > 0 for paired in PAIRED.values())),
             str(sum(paired.mean < 0 for paired in PAIRED.values()))),
            ("corrected by Holm over all 45: {} of 45", str(sum(p < 0.05 for p in not_worse.values()))),
            ("a new random partition in every epoch, {}", spread(column(RUNS["vanilla"], VALUE), 2)),
        ])


if __name__ == "__main__":
    unittest.main()
