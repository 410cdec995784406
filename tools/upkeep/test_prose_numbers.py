import unittest

from prose_numbers import numbers_of


class ProseNumbers(unittest.TestCase):
    def test_counts_the_numbers_of_prose_only(self):
        page = ("It takes 1,024 steps, 2.5 ms at 132 SMs, with sm_90a and [lesson 05](../05_x/README.md#a-7).\n\n"
                "| 11 | 12 |\n\n```cuda\nint i = 13;\n```\n\n    14 * x\n\n<!-- table: t15 -->\n")
        self.assertEqual(sorted(numbers_of(page)), ["05", "1,024", "132", "2.5"])

    def test_counts_a_number_as_often_as_it_is_there(self):
        self.assertEqual(numbers_of("3, then 3.")["3"], 2)


if __name__ == "__main__":
    unittest.main()
