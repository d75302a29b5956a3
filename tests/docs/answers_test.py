"""Every number of docs/answers stands on the page that its row links: python3 answers_test.py"""

import pathlib
import re
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


if __name__ == "__main__":
    unittest.main()
