"""Philox4x32-10 and the named random streams, word by word from their definition."""

import math
from statistics import NormalDist

MASK32 = 0xFFFFFFFF
ALL_WORKERS = MASK32

# Published known answers: counter, key, result.
KNOWN_ANSWERS = [
    ([0, 0, 0, 0], [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([MASK32] * 4, [MASK32] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0],
     [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]


def philox4x32_10(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        a = 0xD2511F53 * c0
        b = 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & MASK32, (a >> 32) ^ c3 ^ k1, a & MASK32
        k0 = (k0 + 0x9E3779B9) & MASK32
        k1 = (k1 + 0xBB67AE85) & MASK32
    return [c0, c1, c2, c3]


def purpose_code(name):
    """32-bit FNV-1a."""
    code = 2166136261
    for byte in name.encode():
        code = ((code ^ byte) * 16777619) & MASK32
    return code


class Stream:
    """Block b is Philox with the seed as key and the counter {b, purpose, epoch, worker}."""

    def __init__(self, seed, purpose, epoch, worker=ALL_WORKERS):
        self.key = [seed & MASK32, seed >> 32]
        self.name = [purpose_code(purpose), epoch, worker]
        self.block_number = 0
        self.words = []

    def next32(self):
        if not self.words:
            self.words = philox4x32_10([self.block_number] + self.name, self.key)
            self.block_number += 1
        return self.words.pop(0)

    def next64(self):
        low = self.next32()
        return low | (self.next32() << 32)

    def below(self, bound):
        """Lemire's multiply and reject, for bounds up to 2^32."""
        surplus = (1 << 32) % bound
        while True:
            product = self.next32() * bound
            if (product & MASK32) >= surplus:
                return product >> 32

    def uniform(self):
        return (self.next64() >> 11) * 2.0**-53

    def open_uniform(self):
        return ((self.next64() >> 12) + 0.5) * 2.0**-52

    def exponential(self):
        return -math.log(self.open_uniform())

    def normal(self):
        return NormalDist().inv_cdf(self.open_uniform())

    def shuffle(self, items):
        """Fisher-Yates from the back, in place."""
        for i in range(len(items), 1, -1):
            j = self.below(i)
            items[i - 1], items[j] = items[j], items[i - 1]
        return items


def check_known_answers():
    for counter, key, result in KNOWN_ANSWERS:
        assert philox4x32_10(counter, key) == result, (counter, key)
