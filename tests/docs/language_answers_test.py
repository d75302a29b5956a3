"""docs/answers/language.md, question 4: tables and sentences again from the runs: python3 language_answers_test.py"""

import unittest

from answers import (ROOT, Paired, check_claims, check_perplexities, column, holm, mean_of, read_runs, rows, spread,
                     thousands)

PAGE = ROOT / "docs/answers/language.md"
ANSWERS = ROOT / "docs/answers/README.md"
VALUE = "best_perplexity"
RUNS = read_runs("experiments/shakespeare/results.csv")
REVIEWS = read_runs("experiments/gpu/results/selection-language.csv")
PAIRED = {arm: Paired(runs, RUNS["vanilla"], VALUE) for arm, runs in RUNS.items() if arm != "vanilla"}
PLACED = ["stripes", "blocks", "is-pair"]


class Shakespeare(unittest.TestCase):
    def test_all_arms_have_the_same_seeds(self):
        self.assertEqual(len({tuple(sorted(runs)) for runs in RUNS.values()}), 1)

    def test_the_table_is_that_of_the_runs(self):
        table = rows(PAGE, "| Tiny Shakespeare | n |")
        check_perplexities(self, table, RUNS, "vanilla", lambda runs: thousands(mean_of(runs, "visits")))

    def test_sentences_are_computed(self):
        corrected = holm({arm: paired.p for arm, paired in PAIRED.items()})
        saved = Paired(RUNS["infobatch"], RUNS["fewer-epochs"], VALUE)
        check_claims(self, PAGE, [
            ("the largest difference of the three is {}", max((PAIRED[arm] for arm in PLACED), key=lambda p: abs(p.mean)).text(3)),
            ("Holm p {}, {} and {}", *(f"{corrected[arm]:.2f}" for arm in PLACED)),
            ("Infobatch against fewer epochs** {} in perplexity", saved.text(3)),
            ("infobatch comes to {}, as many visits in the plain way to {}",
             *(f"{mean_of(RUNS[arm], VALUE):.2f}" for arm in ["infobatch", "fewer-epochs"])),
        ])

    def test_the_list_of_answers_says_what_the_runs_say(self):
        check_claims(self, ANSWERS, [
            ("perplexity {} vanilla, {} Stripes, {} Blocks, {} is-pair, {} infobatch", *(spread(column(RUNS[arm], VALUE), 2)
                                                                          for arm in ["vanilla", *PLACED, "infobatch"])),
            ("on film reviews infobatch {} against {}", *(f"{mean_of(REVIEWS[arm], VALUE):.2f}" for arm in ["infobatch", "vanilla"])),
        ])


if __name__ == "__main__":
    unittest.main()
