"""Pictures, and what torchvision would make of them with Pillow."""

import math

import numpy
from PIL import Image


def natural_picture(width, height, seed=0):
    """Colours with a spectrum like that of photographs: amplitude falls with frequency."""
    noise = numpy.random.default_rng(seed)
    across, down = numpy.fft.rfftfreq(width)[None, :], numpy.fft.fftfreq(height)[:, None]
    amplitude = 1 / numpy.maximum(numpy.hypot(across, down), 1 / max(width, height)) ** 1.2
    planes = []
    for _ in range(3):
        phase = numpy.exp(2j * math.pi * noise.random(amplitude.shape))
        plane = numpy.fft.irfft2(amplitude * phase, s=(height, width))
        planes.append(128 + 50 * plane / plane.std())
    grey = sum(planes) / 3
    mixed = [0.7 * grey + 0.3 * plane for plane in planes]
    return Image.fromarray(numpy.stack(mixed, 2).clip(0, 255).astype(numpy.uint8))


def rough_picture(width, height, seed=0):
    """Every pixel at random: the hardest for a filter."""
    noise = numpy.random.default_rng(seed)
    return Image.fromarray(noise.integers(0, 256, (height, width, 3), dtype=numpy.uint8))


def evaluation_view(image, size):
    """torchvision: Resize(round(size / 0.875)), CenterCrop(size)."""
    width, height = image.size
    short = round(size / 0.875)
    if width <= height:
        resized = (short, int(short * height / width))
    else:
        resized = (int(short * width / height), short)
    image = image.resize(resized, Image.BILINEAR)
    left, top = round((resized[0] - size) / 2), round((resized[1] - size) / 2)
    return image.crop((left, top, left + size, top + size))


def training_view(image, box, size):
    left, top, width, height = box
    part = image.crop((left, top, left + width, top + height))
    return part.resize((size, size), Image.BILINEAR)


def reference_boxes(draw, width, height, count):
    """torchvision.transforms.RandomResizedCrop.get_params"""
    for _ in range(count):
        for _ in range(10):
            area = width * height * draw.uniform(0.08, 1)
            ratio = math.exp(draw.uniform(math.log(3 / 4), math.log(4 / 3)))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < w <= width and 0 < h <= height:
                yield draw.randrange(width - w + 1), draw.randrange(height - h + 1), w, h
                break
        else:
            w = min(width, round(height * 4 / 3))
            h = min(height, round(width / (3 / 4)))
            yield (width - w) // 2, (height - h) // 2, w, h
