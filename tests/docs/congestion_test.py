"""Numbers of docs/answers/congestion.md are those of experiments/simulate: python3 congestion_test.py"""

import csv
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from answers import ROOT, rows, thousands  # noqa: E402

PAGE = ROOT / "docs" / "answers" / "congestion.md"


def read(name, *keys):
    """Rows of a file by their values of these columns, no two alike."""
    found = {}
    with open(ROOT / "experiments" / "simulate" / f"{name}.csv", newline="") as file:
        for row in csv.DictReader(file):
            key = tuple(row[column] for column in keys)
            assert key not in found, key
            found[key] = row
    return found


def number(text):
    return text.replace(" ", "")


def milliseconds(row, column="seconds"):
    return f"{1000 * float(row[column]):.3g}"


def times_alone(row):
    return f"{float(row['seconds']) / float(row['least_seconds']):.2f}"


class Pairs(unittest.TestCase):
    """Pairs against all-to-all."""

    WIRINGS = [("1", "static"), ("1", "hashed"), ("1", "adaptive"), ("2", "static"), ("2", "adaptive")]

    def setUp(self):
        self.rows = read("congestion", "oversubscription", "routing", "nodes", "strategy")
        self.nodes = sorted({int(key[2]) for key in self.rows})
        self.page = PAGE.read_text()

    def seconds(self, wiring, nodes, strategy, column="seconds"):
        return float(self.rows[(*wiring, str(nodes), strategy)][column])

    def slower(self, wiring, nodes):
        """How many times as long pairs take."""
        return self.seconds(wiring, nodes, "is-pair@0.1") / self.seconds(wiring, nodes, "partial@0.1")

    def test_the_table_is_that_of_the_simulations(self):
        table = rows(PAGE, "| nodes | 1:1 static")
        self.assertEqual([number(row[0]) for row in table], [str(nodes) for nodes in self.nodes])
        for nodes, *texts in table:
            for place, wiring in enumerate(self.WIRINGS):
                for strategy, text in zip(["partial@0.1", "is-pair@0.1"], texts[2 * place:]):
                    with self.subTest(f"{wiring} {nodes} {strategy}"):
                        self.assertEqual(text, f"{1000 * self.seconds(wiring, number(nodes), strategy):.2f}")

    def test_pairs_are_slower_from_128_nodes_on_with_static_routing(self):
        static = {nodes: self.slower(("1", "static"), nodes) for nodes in self.nodes}
        self.assertEqual(min(nodes for nodes, times in static.items() if times > 1), 128)
        self.assertTrue(all(times > 1 for nodes, times in static.items() if nodes >= 128))
        self.assertIn(f"takes {static[2048]:.1f} times as long on 2 048", self.page)

    def test_pairs_are_faster_by_no_more_than_it_says(self):
        least = min(self.slower(wiring, nodes) for wiring in self.WIRINGS for nodes in self.nodes)
        self.assertIn(f"by at most {100 * (1 - least):.0f} %", self.page)

    def test_with_half_the_links_up_and_adaptive_routing_both_take_about_as_long(self):
        apart = max(abs(self.slower(("2", "adaptive"), nodes) - 1) for nodes in self.nodes if nodes >= 128)
        self.assertIn(f"differ by {100 * apart:.0f} % at most from 128 nodes on", self.page)

    def test_messages_and_the_time_of_a_link_are_those_of_the_simulations(self):
        counts = [self.rows["1", "static", "2048", f"{strategy}@0.1"]["messages"] for strategy in ("is-pair", "partial")]
        self.assertIn("{} instead of {} on 2 048 nodes".format(*(thousands(int(count)) for count in counts)), self.page)
        alone = self.seconds(("1", "static"), 2048, "is-pair@0.1", "least_seconds")
        self.assertIn(f"{1000 * alone:.2f} ms is what a node's own link needs", self.page)


class Strategies(unittest.TestCase):
    def test_the_table_is_that_of_the_simulations(self):
        simulated = read("strategies", "nodes", "strategy")
        table = rows(PAGE, "| strategy | 128 nodes | alone |")
        self.assertEqual(sorted((nodes, row[0]) for row in table for nodes in ("128", "2048")), sorted(simulated))
        for strategy, *texts, link in table:
            few, many = (simulated[nodes, strategy] for nodes in ("128", "2048"))
            with self.subTest(strategy):
                self.assertEqual(texts, [text for row in (few, many) for text in (
                    milliseconds(row), milliseconds(row, "least_seconds"), times_alone(row))])
                self.assertEqual(link, f"{many['busiest_link']}, {100 * float(many['busy']):.0f} %")


class Figure3(unittest.TestCase):
    def test_the_table_is_that_of_the_simulations(self):
        simulated = read("figure3", "nodes", "strategy")
        table = rows(PAGE, "| nodes | strategy | compute |")
        self.assertEqual(sorted((number(row[0]), row[1]) for row in table), sorted(simulated))
        for nodes, strategy, *texts, times in table:
            row = simulated[number(nodes), strategy]
            with self.subTest(f"{nodes} {strategy}"):
                for text, column in zip(texts, ["epoch_compute", "epoch_gradients", "epoch_exchange", "epoch_importance"]):
                    self.assertEqual(text, f"{float(row[column]):.3g}")
                self.assertEqual(times, times_alone(row))


if __name__ == "__main__":
    unittest.main()
