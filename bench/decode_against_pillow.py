#!/usr/bin/env python3
"""Photos per second of one thread beside a plain loop with Pillow (Debian's python3-pil).

    /usr/bin/python3 bench/decode_against_pillow.py build/release/bin/decode_bench

Makes 96 JPEGs of 500x375 with the spectrum of photographs (about 100 kB each, as ImageNet's) and
has both bring them to 224x224 from the same files, in turns, three times.
"""

import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "images"))
from photos import evaluation_view, natural_picture, reference_boxes, training_view  # noqa: E402

COUNT, WIDTH, HEIGHT, SIZE = 96, 500, 375, 224


def pillow_rate(paths, view):
    start = time.perf_counter()
    for path in paths:
        with Image.open(path) as image:
            view(image.convert("RGB")).tobytes()
    return len(paths) / (time.perf_counter() - start)


def main():
    boxes = reference_boxes(random.Random(1), WIDTH, HEIGHT, 10**6)
    views = {"evaluation": lambda image: evaluation_view(image, SIZE),
             "training": lambda image: training_view(image, next(boxes), SIZE)}
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for part in ("train", "val"):
            (root / part / "one").mkdir(parents=True)
        for i in range(COUNT):
            picture = natural_picture(WIDTH, HEIGHT, seed=i)
            picture.save(root / "train" / "one" / f"{i:03}.jpg", quality=95)
        picture.save(root / "val" / "one" / "0.jpg")
        paths = sorted((root / "train" / "one").iterdir())
        print(f"{COUNT} photos of {sum(path.stat().st_size for path in paths) / COUNT:.0f} bytes")
        rates = {name: ([], []) for name in views}
        for _ in range(3):
            for name, view in views.items():
                rates[name][0].append(pillow_rate(paths, view))
            report = subprocess.run([sys.argv[1], folder], capture_output=True, text=True, check=True)
            for name in views:
                match = re.search(rf"for {name}:\n  plain loop +([\d.]+) images/s", report.stdout)
                rates[name][1].append(float(match[1]))
        print(report.stdout)
        for name, (pillow, ours) in rates.items():
            pillow, ours = statistics.median(pillow), statistics.median(ours)
            print(f"{name}: Pillow {pillow:.0f} images/s, impart {ours:.0f} images/s, "
                  f"{ours / pillow:.2f} times as many")


if __name__ == "__main__":
    main()
