"""What the examples train on: CIFAR-10 from its binary files, or drawn gratings."""

import pathlib

import numpy as np
import torch
from torch.utils.data import TensorDataset


def load_images(folder=None, *, train=2000, test=500, seed=0):
    """Training and test set of (3 × 32 × 32 image, class). Without a folder, images are drawn."""
    if folder is None:
        return draw_gratings(train, seed), draw_gratings(test, seed + 1)
    names = [f"data_batch_{number}.bin" for number in range(1, 6)]
    return read_cifar10(folder, names), read_cifar10(folder, ["test_batch.bin"])


def read_cifar10(folder, names):
    """Records of a byte for the class and 3 × 32 × 32 bytes (`impart data fetch cifar10 DIR`)."""
    parts = [np.fromfile(pathlib.Path(folder) / name, np.uint8).reshape(-1, 3073) for name in names]
    records = torch.from_numpy(np.concatenate(parts))
    images = records[:, 1:].reshape(-1, 3, 32, 32).float() / 255
    mean, deviation = images.mean(dim=(0, 2, 3)), images.std(dim=(0, 2, 3))
    images = (images - mean.view(3, 1, 1)) / deviation.view(3, 1, 1)
    return TensorDataset(images, records[:, 0].long())


def draw_gratings(count, seed):
    """Stripes in ten directions under more or less noise: some are easy, some nearly hopeless."""
    draw = torch.Generator().manual_seed(seed)
    classes = torch.randint(10, (count,), generator=draw)
    angle = classes.float() * torch.pi / 10
    noise = 0.3 + 7.7 * torch.rand(count, generator=draw) ** 2
    phase = 2 * torch.pi * torch.rand(count, generator=draw)
    row, column = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
    along = row * angle.sin().view(-1, 1, 1) + column * angle.cos().view(-1, 1, 1)
    stripes = torch.sin(along * 0.7 + phase.view(-1, 1, 1)).unsqueeze(1)
    images = stripes + noise.view(-1, 1, 1, 1) * torch.randn(count, 3, 32, 32, generator=draw)
    return TensorDataset(images, classes)


def small_network(classes=10):
    """Three convolutions, enough for gratings and for about 70 % on CIFAR-10."""
    def block(inputs, outputs):
        return [torch.nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                torch.nn.BatchNorm2d(outputs), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    return torch.nn.Sequential(*block(3, 16), *block(16, 32), *block(32, 64),
                               torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                               torch.nn.Linear(64, classes))
