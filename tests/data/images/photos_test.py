#!/usr/bin/env python3
"""The photo decoder against Pillow, in its own Python: photos_test.py PHOTO_JOB"""

import io
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import numpy
from PIL import Image, ImageFile, ImageOps

from photos import (evaluation_view, natural_picture, reference_boxes, rough_picture,
                    training_view)

PHOTO_JOB = sys.argv.pop(1)
ImageFile.MAXBLOCK = 1 << 24  # or Pillow cannot write progressive pictures of noise


def planes_of(image):
    return numpy.asarray(image.convert("RGB")).transpose(2, 0, 1).astype(int)


class Photos(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.job = subprocess.Popen([PHOTO_JOB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @classmethod
    def tearDownClass(cls):
        cls.job.stdin.close()
        cls.job.stdout.close()
        cls.job.wait()
        cls.folder.cleanup()

    def ask(self, line):
        self.job.stdin.write(line + "\n")
        self.job.stdin.flush()
        return self.job.stdout.readline().rstrip("\n")

    def decode(self, content, size, words="evaluate"):
        """The planes, or the message."""
        (self.path / "in").write_bytes(content)
        answer = self.ask(f"{size} {words} {self.path / 'in'} {self.path / 'out'}")
        if answer != "done":
            return answer
        return numpy.fromfile(self.path / "out", numpy.uint8).reshape(3, size, size).astype(int)

    def box(self, words, width, height):
        return tuple(map(int, self.ask(f"1 {words} {width}x{height}").split()[1:]))

    def saved(self, image, form, **options):
        content = io.BytesIO()
        image.save(content, form, **options)
        return content.getvalue()

    def assert_same(self, found, expected, level=0):
        self.assertNotIsInstance(found, str, found)
        self.assertLessEqual(abs(found - expected).max(), level)

    def assert_bad(self, found, *words):
        self.assertIsInstance(found, str)
        self.assertTrue(found.startswith("bad "), found)
        for word in words:
            self.assertIn(word, found)

    SIZES = [(300, 200), (200, 300), (97, 61), (20, 31), (256, 256), (1, 1), (640, 33), (7, 300)]

    def test_png_is_resampled_as_pillow_does(self):
        for width, height in self.SIZES:
            for size in (224, 64, 33, 1):
                image = rough_picture(width, height)
                with self.subTest(width=width, height=height, size=size):
                    found = self.decode(self.saved(image, "PNG"), size)
                    self.assert_same(found, planes_of(evaluation_view(image, size)))

    def test_random_part_of_png_is_resampled_as_pillow_does(self):
        for number, (width, height) in enumerate(self.SIZES * 4):
            words = f"{number},2,3,4"
            image = rough_picture(width, height)
            with self.subTest(width=width, height=height, words=words):
                found = self.decode(self.saved(image, "PNG"), 40, words)
                box = self.box(words, width, height)
                self.assert_same(found, planes_of(training_view(image, box, 40)))

    def test_jpeg_part_is_that_of_the_whole_whatever_the_kind(self):
        kinds = [dict(subsampling=s, progressive=p) for s in (0, 1, 2) for p in (False, True)]
        for number, kind in enumerate(kinds):
            content = self.saved(rough_picture(333, 251, number), "JPEG", quality=80, **kind)
            image = Image.open(io.BytesIO(content))
            with self.subTest(kind=kind):
                found = self.decode(content, 224)
                self.assert_same(found, planes_of(evaluation_view(image, 224)))
            for draw in range(12):
                words = f"{draw},{number},0,0"
                with self.subTest(kind=kind, words=words):
                    box = self.box(words, 333, 251)
                    self.assert_same(self.decode(content, 150, words),
                                     planes_of(training_view(image, box, 150)))

    def test_large_jpeg_is_halved_while_it_is_decoded(self):
        for width, height in ((1501, 999), (1024, 1024), (3001, 2003)):
            content = self.saved(natural_picture(width, height), "JPEG", quality=92, subsampling=2)
            image = Image.open(io.BytesIO(content))
            for words in ("evaluate", "5,0,0,0", "6,0,0,0", "7,0,0,0"):
                with self.subTest(width=width, words=words):
                    found = self.decode(content, 64, words)
                    expected = planes_of(evaluation_view(image, 64) if words == "evaluate" else
                                         training_view(image, self.box(words, width, height), 64))
                    self.assert_same(found, expected, level=4)
                    self.assertLess(abs(found - expected).mean(), 0.5)

    def test_kinds_of_pixels_all_become_red_green_blue(self):
        colour = natural_picture(120, 90)
        grey = colour.convert("L")
        translucent = colour.copy()
        translucent.putalpha(grey)
        see_through = colour.convert("P", palette=Image.ADAPTIVE)
        for name, image, form, options in [
            ("grey JPEG", grey, "JPEG", {}),
            ("CMYK JPEG", colour.convert("CMYK"), "JPEG", {"quality": 95}),
            ("grey PNG", grey, "PNG", {}),
            ("grey PNG with alpha", grey.convert("LA"), "PNG", {}),
            ("PNG with alpha", translucent, "PNG", {}),
            ("PNG with palette", see_through, "PNG", {}),
            ("PNG with palette of 16", colour.quantize(16), "PNG", {"bits": 4}),
            ("PNG with transparent palette", see_through, "PNG", {"transparency": 3}),
            ("PNG with transparent colour", colour, "PNG", {"transparency": (1, 2, 3)}),
            ("black and white PNG", grey.convert("1"), "PNG", {}),
        ]:
            with self.subTest(name):
                content = self.saved(image, form, **options)
                expected = evaluation_view(Image.open(io.BytesIO(content)).convert("RGB"), 56)
                level = 1 if image.mode == "CMYK" else 0  # division rounds differently
                self.assert_same(self.decode(content, 56), planes_of(expected), level)

    def test_sixteen_bits_are_scaled_to_eight(self):
        values = numpy.random.default_rng(1).integers(0, 65536, (256, 256)).astype(numpy.uint16)
        content = self.saved(Image.fromarray(values), "PNG")
        self.assertEqual(content[24], 16)
        eight = (values / 257.0).round().astype(numpy.uint8)
        expected = evaluation_view(Image.fromarray(eight).convert("RGB"), 224)
        self.assert_same(self.decode(content, 224), planes_of(expected))

    def test_exif_turns_pictures_as_browsers_do(self):
        for number in range(1, 9):
            exif = Image.Exif()
            exif[0x0112] = number
            for form, width, height, options in [("JPEG", 97, 61, {"subsampling": 0}),
                                                 ("JPEG", 64, 120, {"subsampling": 0, "progressive": True}),
                                                 ("PNG", 97, 61, {}), ("PNG", 64, 120, {})]:
                content = self.saved(rough_picture(width, height, number), form, exif=exif, **options)
                upright = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
                for words in ("evaluate", "1,2,3,4", "5,6,7,8"):
                    with self.subTest(form=form, number=number, width=width, words=words):
                        expected = (evaluation_view(upright, 40) if words == "evaluate" else
                                    training_view(upright, self.box(words, *upright.size), 40))
                        # Turned, rows are resampled before columns: roundings differ.
                        self.assert_same(self.decode(content, 40, words), planes_of(expected), 1)

    def test_large_pictures_are_turned_too(self):
        exif = Image.Exif()
        exif[0x0112] = 6
        content = self.saved(natural_picture(1501, 999), "JPEG", quality=92, exif=exif)
        upright = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
        self.assertEqual(upright.size, (999, 1501))
        self.assert_same(self.decode(content, 64), planes_of(evaluation_view(upright, 64)), 4)

    def test_damaged_exif_is_ignored(self):
        exif = Image.Exif()
        exif[0x0112] = 6
        image = rough_picture(50, 30)
        segment, plain = exif.tobytes(), self.decode(self.saved(image, "JPEG"), 32)
        exif[0x0112] = 9
        broken = [segment[:cut] for cut in range(6, len(segment) - 4)]
        broken += [exif.tobytes(), b"Exif\0\0MM\0\x2a\xff\xff\xff\xff", b"Exif\0\0II\x2a\0\x08\0\0\0\xff\xff"]
        for content in broken:
            with self.subTest(content):
                self.assert_same(self.decode(self.saved(image, "JPEG", exif=content), 32), plain)

    def test_exif_behind_the_pixels_of_a_png_is_ignored(self):
        """As browsers do, which show the picture before they have read so far."""
        exif = Image.Exif()
        exif[0x0112] = 6
        image = rough_picture(50, 30)
        content = self.saved(image, "PNG", exif=exif)
        start = content.index(b"eXIf") - 4
        end = start + 12 + int.from_bytes(content[start:start + 4], "big")
        last = content.index(b"IEND") - 4
        moved = content[:start] + content[end:last] + content[start:end] + content[last:]
        self.assert_same(self.decode(moved, 32), self.decode(self.saved(image, "PNG"), 32))

    def test_cmyk_is_read_as_adobes_even_without_its_mark(self):
        content = self.saved(natural_picture(120, 90).convert("CMYK"), "JPEG", quality=95)
        adobe = content.index(b"\xff\xee")
        self.assertEqual(content[adobe + 4:adobe + 9], b"Adobe")
        bare = content[:adobe] + content[adobe + 2 + int.from_bytes(content[adobe + 2:adobe + 4], "big"):]
        expected = evaluation_view(Image.open(io.BytesIO(bare)).convert("RGB"), 56)
        self.assert_same(self.decode(bare, 56), planes_of(expected), 1)

    def test_a_jpeg_of_twelve_bits_is_refused(self):
        content = bytearray(self.saved(natural_picture(16, 16), "JPEG"))
        content[content.index(b"\xff\xc0") + 4] = 12
        self.assert_bad(self.decode(bytes(content), 32), "12 bits per colour, where 8 are read")

    def test_truncated_files_are_bad_whatever_part_is_wanted(self):
        image = natural_picture(200, 150)
        for form, options in [("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {})]:
            content = self.saved(image, form, **options)
            cuts = [0, 1, 2, 3, 8, 30, 200, len(content) // 2, len(content) - 1]
            for cut in cuts + random.Random(1).sample(range(len(content)), 30):
                for words in ("evaluate", "1,2,3,4", "4,3,2,1"):
                    with self.subTest(form=form, cut=cut, words=words):
                        self.assert_bad(self.decode(content[:cut], 32, words))

    def test_a_changed_byte_of_a_png_is_found(self):
        content = self.saved(natural_picture(60, 40), "PNG")
        header, data = 8 + 25, content.index(b"IDAT")
        for at in [*range(8, header), *random.Random(2).sample(range(data, len(content)), 60)]:
            changed = bytearray(content)
            changed[at] ^= 0x41
            with self.subTest(at=at):
                self.assert_bad(self.decode(bytes(changed), 32))

    def test_damaged_jpeg_data_is_found(self):
        content = self.saved(natural_picture(200, 150), "JPEG", quality=90)
        start = content.index(b"\xff\xda") + 20
        hole = bytearray(content)
        hole[start + 1000:start + 1400] = bytes([0xFF, 0xD9] * 200)
        self.assert_bad(self.decode(bytes(hole), 32), "JPEG", "byte")
        missing = content[:start + 2000] + content[start + 4000:]
        self.assert_bad(self.decode(missing, 32), "JPEG", "byte")

    def test_padding_of_a_jpeg_is_no_damage(self):
        content = self.saved(natural_picture(100, 80), "JPEG")
        padded = content[:-2] + bytes(9) + content[-2:] + b"left over"
        self.assert_same(self.decode(padded, 32), self.decode(content, 32))

    def test_what_is_no_photo_is_named_so(self):
        self.assert_bad(self.decode(b"GIF89a and so on", 32), "16 bytes", "neither a JPEG nor a PNG")
        self.assert_bad(self.decode(b"", 32), "neither a JPEG nor a PNG")

    def test_huge_pictures_are_refused_before_they_are_decoded(self):
        content = bytearray(self.saved(natural_picture(16, 16), "JPEG"))
        frame = content.index(b"\xff\xc0")
        content[frame + 5:frame + 9] = b"\xff\xdc\xff\xdc"
        self.assert_bad(self.decode(bytes(content), 32), "65500x65500 pixels")

    def test_random_parts_are_distributed_as_torchvision_chooses_them(self):
        count = 20000
        for width, height in ((500, 375), (120, 300)):
            lines = "".join(f"1 {i},0,0,0 {width}x{height}\n" for i in range(count))
            answers = subprocess.run([PHOTO_JOB], input=lines, capture_output=True, text=True, check=True)
            ours = [tuple(map(int, line.split()[1:])) for line in answers.stdout.splitlines()]
            theirs = list(reference_boxes(random.Random(3), width, height, count))
            for name, measure in {
                "area": lambda box: box[2] * box[3],
                "ratio": lambda box: box[2] / box[3],
                "left": lambda box: box[0] / max(1, width - box[2]),
                "top": lambda box: box[1] / max(1, height - box[3]),
            }.items():
                with self.subTest(width=width, measure=name):
                    distance = largest_distance(list(map(measure, ours)), list(map(measure, theirs)))
                    self.assertLess(distance, 1.95 * math.sqrt(2 / count))  # one in a thousand

    def test_the_centre_is_taken_where_no_random_part_fits(self):
        self.assertEqual(self.box("1,0,0,0", 1000, 2), (498, 0, 3, 2))
        self.assertEqual(self.box("1,0,0,0", 3, 1000), (0, 498, 3, 4))


def largest_distance(ours, theirs):
    """Kolmogorov and Smirnov's."""
    places = numpy.concatenate([ours, theirs])
    below = [numpy.searchsorted(numpy.sort(sample), places, side="right") / len(sample)
             for sample in (ours, theirs)]
    return abs(below[0] - below[1]).max()


if __name__ == "__main__":
    unittest.main(verbosity=2)
