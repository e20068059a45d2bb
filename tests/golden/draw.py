# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers for generated documents: the same on every machine and in every Python. Only
+ - * / and sqrt are used, which IEEE 754 rounds in one way, and no function of libm."""

import math

MASK = (1 << 64) - 1


class Draw:
    """Marsaglia's xorshift64*, seeded by splitmix64."""

    def __init__(self, seed):
        z = (seed + 1) * 0x9E3779B97F4A7C15 & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        self.state = z ^ z >> 31 or 1

    def unit(self):
        """In [0, 1)."""
        x = self.state
        x ^= x >> 12
        x = (x ^ x << 25) & MASK
        x ^= x >> 27
        self.state = x
        return (x * 0x2545F4914F6CDD1D & MASK) / 2048 // 1 / (1 << 53)

    def between(self, low, high):
        return low + (high - low) * self.unit()

    def below(self, count):
        return int(self.unit() * count)

    def chance(self, probability):
        return self.unit() < probability

    def pick(self, choices):
        return choices[self.below(len(choices))]

    def vector(self, size):
        return [self.between(-size, size) for _ in range(3)]

    def direction(self, width=3):
        """A unit vector, or with width 4 a unit quaternion."""
        while True:
            v = [self.between(-1, 1) for _ in range(width)]
            square = sum(x * x for x in v)
            if 0.1 < square < 1:
                return [x / math.sqrt(square) for x in v]

    def across(self, axis):
        """A unit vector perpendicular to a unit vector."""
        while True:
            v = self.direction()
            along = sum(a * b for a, b in zip(v, axis))
            if abs(along) < 0.9:
                rest = [a - along * b for a, b in zip(v, axis)]
                length = math.sqrt(sum(x * x for x in rest))
                return [x / length for x in rest]

    def small_turn(self, size):
        """A quaternion near the identity."""
        v = [1.0, *self.vector(size)]
        length = math.sqrt(sum(x * x for x in v))
        return [x / length for x in v]
