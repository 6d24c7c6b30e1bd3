# SPDX-License-Identifier: Apache-2.0
import unittest

from peers import philox


def wrapped(value):
    """As a 64-bit integer with a sign holds it."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


class Int64:
    """One number with the arithmetic of NumPy's and torch's int64: it wraps around, and shifts keep the sign."""

    def __init__(self, value):
        self.value = wrapped(value)

    def _with(self, other, operation):
        return Int64(operation(self.value, other.value if isinstance(other, Int64) else other))

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __xor__(self, other):
        return self._with(other, lambda a, b: a ^ b)

    def __and__(self, other):
        return self._with(other, lambda a, b: a & b)

    def __rshift__(self, other):
        return self._with(other, lambda a, b: a >> b)

    def __floordiv__(self, other):
        return self._with(other, lambda a, b: a // b)

    def __mod__(self, other):
        return self._with(other, lambda a, b: a % b)

    def __eq__(self, other):
        return self.value == other

    def __ge__(self, other):
        return self.value >= other

    @staticmethod
    def where(condition, a, b):
        return a if condition else b


class Philox(unittest.TestCase):
    # Expected values: examples/kat_vectors of the authors' Random123 library.
    KNOWN = [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
         (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ]

    def test_gives_the_known_answers(self):
        for counter, key, expected in self.KNOWN:
            self.assertEqual(philox.philox4x32_10(counter, key), expected)

    def test_gives_them_in_wrapping_arithmetic_too(self):
        for counter, key, expected in self.KNOWN:
            words = philox.philox4x32_10([Int64(word) for word in counter], key)
            self.assertEqual([word.value for word in words], list(expected))


class KeepMask(unittest.TestCase):
    def keep(self, row, column, p, seed=0, offset=0):
        return philox.keep_mask(Int64(row), Int64(column), p, seed, offset, Int64)

    def test_takes_the_word_of_the_column_and_the_counter_of_the_definition(self):
        seed, offset = 0x299F31D0A4093822, 0x0370734413198A2E
        row, quad = 0x85A308D3, 0x243F6A88
        for position, word in enumerate(self.KNOWN_WORDS):
            p = (word >> 8) / 2.0**24
            column = 4 * quad + position
            self.assertTrue(self.keep(row, column, p, seed, offset))
            self.assertFalse(self.keep(row, column, p + 2.0**-24, seed, offset))

    KNOWN_WORDS = Philox.KNOWN[2][2]

    def test_keeps_all_at_0_and_none_at_1(self):
        for column in range(9):
            self.assertTrue(self.keep(3, column, 0.0))
            self.assertFalse(self.keep(3, column, 1.0))

    def test_keeps_as_many_as_p_says(self):
        kept = sum(self.keep(row, column, 0.25) for row in range(40) for column in range(50))
        self.assertAlmostEqual(kept / 2000, 0.75, delta=0.04)


if __name__ == "__main__":
    unittest.main()
