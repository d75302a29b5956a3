#!/usr/bin/env python3
"""Takes the README's pictures from a report: readme_pictures.py REPORT

REPORT is what `impart report` made of the study of ./quickstart. Pictures of reports follow the
reader's light or dark surroundings by themselves; a page that has a switch of its own needs one file
for each, docs/pictures/NAME-light.svg and NAME-dark.svg.
"""

import pathlib
import re
import sys

PICTURES = pathlib.Path(__file__).resolve().parent.parent / "docs" / "pictures"
STYLE = re.compile(r"<style>svg(\{.*?\})@media\(prefers-color-scheme:dark\)\{svg(\{.*?\})\}</style>")


def main():
    figures = pathlib.Path(sys.argv[1]) / "figures"
    for name, pattern in [("data-map", "data-map-*.svg"), ("curves", "curves.svg")]:
        text = sorted(figures.glob(pattern))[0].read_text()
        style = STYLE.search(text)
        for number, theme in enumerate(["light", "dark"], start=1):
            alone = text.replace(style[0], f"<style>svg{style[number]}</style>")
            (PICTURES / f"{name}-{theme}.svg").write_text(alone)


if __name__ == "__main__":
    main()
