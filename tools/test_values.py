"""Tests of where the first value goes wrong, from two runs under the X-ray."""
import json
import struct
import tempfile
import unittest
from array import array
from pathlib import Path
from unittest import mock

from ladder_tools.values import Touch, Trail, first_wrong

_LOAD, _STORE, _ATOMIC = range(3)
_ARRAYS = [{"name": "k", "bytes": 4, "shared": False, "axes": [["t", 2], ["j", 4]]}, {"name": "o", "bytes": 4, "shared": False, "axes": []},
           {"name": "kv_smem", "bytes": 4, "shared": True, "axes": [["[]", 2], ["[]", 4]]}]


def trail(*touches, grid=(2, 1, 1), complete=True, takes=(), all_takes=True, ends=()):
    """A Trail of touches (operation, block, thread, array, element, number, launch or 0), each on a
    line of its own, 1, 2, ... `takes` are (block, thread, source, after) and `ends` (block,
    thread), all on line 1, or at the two places that follow."""
    launches = 1 + max((launch for touch in touches for launch in touch[6:]), default=0)
    head = {"complete": complete, "all_takes": all_takes, "arrays": _ARRAYS, "launches": launches * [[grid, [32, 1, 1]]], "kernels": [f"kernel{at}" for at in range(launches)],
            "touches": len(touches), "takes": len(takes), "places": [[f"my/kernel.cu:{line}"] for line in range(1, len(touches) + 1)]}
    numbers = array("Q")
    for at, (operation, block, thread, name, element, number, *launch) in enumerate(touches):
        bits = struct.unpack("<I", struct.pack("<f", number))[0]
        numbers.extend((operation, *(launch or [0]), block, thread, at, [each["name"] for each in _ARRAYS].index(name), element, bits))
    for block, thread, source, after in takes:
        numbers.extend((0, block, thread, 0, source, after))
    for block, thread, *places in ends:
        numbers.extend((0, block, thread, 99, 99, *(places or (0, 99))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values"
        path.write_bytes(json.dumps(head).encode() + b"\n" + numbers.tobytes())
        return Trail(path)


_OURS = ((_LOAD, 0, 1, "k", 5, 0), (_STORE, 0, 1, "kv_smem", 6, 1.5), (_STORE, 0, 1, "o", 1, 3.0), (_STORE, 1, 1, "o", 2, 4.0))


class Words(unittest.TestCase):
    def test_of_a_struct_its_place_and_the_number_that_it_is_most_likely(self):
        trail = mock.Mock(arrays=[{"name": "tiles", "axes": [["[]", 2]], "bytes": 80, "shared": True}])
        for element, bits, name, text in ((23, 0xBEF0F593, "tiles[1] from its byte 12 on", "-0.4706"), (20, 0, "tiles[1]", "0"),
                                          (0, 7, "tiles[0]", "0x00000007")):
            touch = Touch(trail, (_STORE, 0, 0, 0, 0, 0, element, bits))
            self.assertEqual((touch.name(), touch.text("e")), (name, text))


    def test_a_small_negative_whole_number_is_no_nan(self):
        trail = mock.Mock(arrays=[{"name": "sums", "axes": [["i", 50]], "bytes": 4, "shared": False}])
        for bits, text in ((0xFFFFFF85, "-123"), (0x00000007, "7"), (0xFFC00000, "nan"), (0x7FC00000, "nan"), (0xC2F60000, "-123")):
            self.assertEqual(Touch(trail, (_STORE, 0, 0, 0, 0, 0, 3, bits)).text("e"), text)

    def test_as_an_error_it_is_of_its_lane_and_bytes(self):
        trail = mock.Mock(arrays=[{"name": "q", "axes": [], "bytes": 4, "shared": True}], places=[["my/a.cu:7", "my/a.cu:9"]], launches=[[(2, 3, 1), (8, 8, 1)]])
        error = Touch(trail, (_LOAD, 0, 3, 10, 0, 0, 5, 0)).as_error(4, ["One.", "Two."])
        self.assertEqual([error[key] for key in ("step", "message", "space", "buffer", "offset", "bytes")], [4, "One. Two.", "shared", "q", 20, 4])
        self.assertEqual([error["party"][key] for key in ("operation", "file", "line", "block", "thread")], ["load", "my/a.cu", 7, [1, 1, 0], [2, 1, 0]])

    def test_a_byte_is_a_number(self):
        trail = mock.Mock(arrays=[{"name": "zero", "axes": [], "bytes": 1, "shared": False}])
        self.assertEqual(Touch(trail, (_STORE, 0, 0, 0, 0, 0, 3, 0xc7)).text("e"), "199")

    def test_lines_that_called_are_named_and_a_helpers_own_is_not(self):
        for place, lines in ((["my/kernel.cu:4"], "my/kernel.cu:4"), (["my/kernel.cu:4", "my/kernel.cu:9"], "my/kernel.cu:4, called at my/kernel.cu:9"),
                             (["common/x.hpp:4", "my/kernel.cu:9"], "my/kernel.cu:9"), (["common/x.hpp:4"], "common/x.hpp:4")):
            touch = Touch(mock.Mock(places=[place], launches=[[(1, 1, 1), (32, 1, 1)]]), (_STORE, 0, 0, 1, 0, 0, 0, 0))
            self.assertEqual(touch.where(), f"{lines} by thread (1, 0, 0) of block (0, 0, 0)")


class FirstWrong(unittest.TestCase):
    def said(self, *touches, ours=_OURS, **more):
        return " ".join(first_wrong(trail(*touches, **more), trail(*ours))[0])

    def test_the_first_value_that_ours_never_stores_there_is_named_with_its_line(self):
        said = self.said(_OURS[0], (_STORE, 0, 1, "kv_smem", 6, 2.5), (_STORE, 0, 1, "o", 1, 9.0))
        self.assertIn("First difference from our kernel: kv_smem[1][2] = 2.5 at my/kernel.cu:2 by thread (1, 0, 0) of block (0, 0, 0); ours stores 1.5.", said)
        self.assertNotIn("Our block also reads", said)

    def test_two_numbers_of_16_bits_in_a_word_are_shown_as_two(self):
        def stores(bits):
            return trail((_STORE, 0, 1, "kv_smem", 6, struct.unpack("<f", struct.pack("<I", bits))[0]))

        said = " ".join(first_wrong(stores(0x00003EB9), stores(0x3F723EB9), half="b")[0])
        self.assertIn("kv_smem[1][2] = (0.3613, 0) at", said)
        self.assertIn("ours stores (0.3613, 0.9453)", said)
        words = mock.Mock(arrays=[{"name": "smem", "axes": [["[]", 2]], "bytes": 16, "shared": True}])
        self.assertEqual(Touch(words, (_STORE, 0, 0, 0, 0, 0, 5, 0x00003EB9)).text("b", pairs=True), "(0.3613, 0)")
        for mine, ours, words in ((0x40200000, 0x3FC00000, "= 2.5 at"), (0x40200001, 0x3FC00003, "= 2.5 at")):
            self.assertIn(words, " ".join(first_wrong(stores(mine), stores(ours), half="b")[0]))

    def test_words_of_one_line_are_pairs_where_most_look_so(self):
        def said(*lines, half="b"):
            trails = []
            for words in lines:
                one = trail(*((_STORE, 0, 1, "kv_smem", n % 8, 0.0) for n in range(len(words))))
                for n, bits in enumerate(words):
                    one._columns[4][n], one._columns[7][n] = 0, bits
                trails.append(one)
            return " ".join(first_wrong(*trails, half=half)[0])

        def bits(number):
            return struct.unpack("<I", struct.pack("<f", number))[0]

        pairs = [(bits(0.1 + n / 7) & 0xFFFF0000) | bits(-0.3 - n / 5) >> 16 for n in range(14)]
        self.assertIn("kv_smem[0][0] = (-0.375, 0.125) at", said([0x3E00BEC0, *pairs[1:]], pairs))
        numbers = [bits(0.1 + n / 7) for n in range(14)]
        self.assertIn("kv_smem[0][0] = 9.3 at", said([bits(9.3), *numbers[1:]], numbers))
        self.assertIn("kv_smem[0][0] = 9.3 at", said([bits(9.3), *numbers[1:]], numbers, half="e"))
        both = [*pairs, *numbers]  # two lines of ours; the first stores pairs
        trails = [trail(*((_STORE, 0, 1, "kv_smem", n % 8, 0.0) for n in range(len(words)))) for words in (pairs, both)]
        for one, words in zip(trails, ([0x3E00BEC0, *pairs[1:]], both)):
            for n, word in enumerate(words):
                one._columns[4][n], one._columns[7][n] = n // 14, word
        said_of_both = " ".join(first_wrong(*trails, half="b")[0])
        self.assertIn("kv_smem[0][0] = (-0.375, 0.125) at", said_of_both)
        self.assertRegex(said_of_both, r"ours stores \(-0.2988, 0.09961\), \(.*\), 0.3857, ")
        halves = [struct.unpack("<I", struct.pack("<ee", 0.1 + n / 7, 0.3 - n / 9))[0] for n in range(14)]
        self.assertIn("kv_smem[0][0] = (0.125, 0.25) at", said([0x34003000, *halves[1:]], halves, half="e"))

    def test_what_two_bytes_are_is_seen_in_the_numbers(self):
        def said(bits_of):
            bits, trails = [bits_of(0.05 * 1.3 ** n) for n in range(14)], []
            with mock.patch.dict(_ARRAYS[1], bytes=2):
                for first in (bits[3], bits[0]):
                    one = trail(*((_STORE, 0, 1, "o", n, 0.0) for n in range(14)))
                    for n, each in enumerate([first, *bits[1:]]):
                        one._columns[7][n] = each
                    trails.append(one)
                return " ".join(first_wrong(*trails)[0])

        bf16 = said(lambda number: struct.unpack("<I", struct.pack("<f", number))[0] >> 16)
        self.assertIn("o[0] = 0.1094 at", bf16)
        self.assertIn("; ours stores 0.0498.", bf16)
        fp16 = said(lambda number: struct.unpack("<H", struct.pack("<e", number))[0])
        self.assertIn("o[0] = 0.1099 at", fp16)
        self.assertIn("; ours stores 0.04999.", fp16)

    def test_what_the_same_thread_reads_elsewhere_is_named(self):
        def kernel(one, other, number):
            return ((_LOAD, 0, 1, "k", one, one / 2), (_LOAD, 0, 2, "k", other, other / 2), (_STORE, 0, 1, "o", 1, number), (_STORE, 0, 2, "o", 2, 1.0))

        said = " ".join(first_wrong(trail(*kernel(2, 1, 9.0)), trail(*kernel(1, 2, 3.0)))[0])
        self.assertIn("Your block reads every element that ours reads, but not in the same threads. This one reads k(", said)
        self.assertIn(") at my/kernel.cu:1, which it does not in ours.", said)

    def test_what_the_same_thread_reads_elsewhere_in_wide_elements_is_named_where_each_reads_what_the_other_does_not(self):
        wide = [{**each, "bytes": 16} for each in _ARRAYS]

        def said(mine, ours):
            def kernel(own, number):
                others = (_LOAD, 0, 2, "k", 1, 0.5), (_LOAD, 0, 2, "k", 2, 1.0)
                return trail(*(((_LOAD, 0, 1, "k", word, word / 2)) for word in own), *others, (_STORE, 0, 1, "o", 4, number))

            return " ".join(first_wrong(kernel(mine, 9.0), kernel(ours, 3.0))[0])

        with mock.patch(f"{__name__}._ARRAYS", wide):
            self.assertIn("not in the same threads. This one reads k(t=0, j=0) from its byte 8 on at", said((2,), (1,)))
            # perhaps it only loads wider vectors
            self.assertNotIn("Your block reads every element", said((1, 2), (1,)))

    def test_an_input_that_holds_something_else_is_named(self):
        ours = ((_LOAD, 0, 1, "k", 1, 2.5), (_STORE, 0, 1, "o", 1, 3.0))
        said = self.said((_LOAD, 0, 1, "k", 1, 7.0), (_STORE, 0, 1, "o", 1, 9.0), ours=ours)
        self.assertIn("= 7, which is 2.5 in ours, and no thread stores there. Was something else copied to k before the launch?", said)
        self.assertNotIn("Your block reads every element", said)

    def test_what_copies_bring_to_shared_memory_was_not_there_before_the_launch(self):
        ours = ((_LOAD, 0, 1, "kv_smem", 1, 2.5), (_STORE, 0, 1, "o", 1, 3.0))
        said = self.said((_LOAD, 0, 1, "kv_smem", 1, 7.0), (_STORE, 0, 1, "o", 1, 9.0), ours=ours)
        self.assertIn("= 7, which is 2.5 in ours, and no thread stores there. Check what is copied there.", said)

    def test_the_lanes_that_shuffles_take_from_are_said_where_they_make_another_sum(self):
        def of_lanes(*sources):
            """Each of four lanes takes from the lanes at these distances."""
            return {"takes": [(0, lane, lane ^ source, 0) for source in sources for lane in range(4)]}

        def said(mine, ours):
            return " ".join(first_wrong(trail((_STORE, 0, 0, "o", 1, 9.0), **mine), trail((_STORE, 0, 0, "o", 1, 3.0), **ours))[0])

        self.assertIn("Before this store, lane 0 reads lanes 0, 1 by shuffles at my/kernel.cu:1; ours reads lanes 2, 1.", said(of_lanes(0, 1), of_lanes(2, 1)))
        self.assertNotIn("lane 0 reads", said(of_lanes(1, 2), of_lanes(2, 1)))  # the same sum
        # ours for lane 0 only
        same_lane = {"takes": [(0, lane, source, 0) for source in (2, 1) for lane in range(4)]}
        self.assertIn("lane 1 reads lanes 2, 1 by shuffles at my/kernel.cu:1; ours reads lanes 3, 0.", said(same_lane, of_lanes(2, 1)))
        self.assertIn("our thread makes 2 shuffles, yours none. Is a reduction over the lanes missing?", said({}, of_lanes(2, 1)))
        # not all takes were kept
        self.assertNotIn("shuffles", said({"all_takes": False}, of_lanes(2, 1)))
        self.assertIn("lane 0 reads lanes 2, 1 by shuffles at my/kernel.cu:1; ours reads lanes 1.", said(of_lanes(2, 1), of_lanes(1)))

    def test_shuffles_before_the_same_of_several_stores_are_compared(self):
        """Both kernels first set the element to zero."""
        takes = {"takes": [(0, lane, lane ^ 1, 1) for lane in range(4)]}
        zero = (_STORE, 0, 0, "o", 1, 0.0)
        said = first_wrong(trail(zero, (_STORE, 0, 0, "o", 1, 9.0), **takes), trail(zero, (_STORE, 0, 0, "o", 1, 3.0), **takes))[0]
        self.assertNotIn("by shuffles", " ".join(said))

    def test_nothing_is_said_of_what_a_stopped_run_does_not_store(self):
        yours, ours = trail((_STORE, 0, 1, "o", 1, 3.0)), trail(*_OURS[2:])
        self.assertIn("Yours does not store 1 element of o", " ".join(first_wrong(yours, ours)[0]))
        self.assertEqual(first_wrong(yours, ours, stopped=True)[0], [])

    def test_where_a_thread_ends_that_stores_something_in_ours(self):
        said = " ".join(first_wrong(trail((_STORE, 0, 1, "o", 1, 3.0), ends=[(0, 0), (1, 1)]), trail(*_OURS[2:]))[0])
        self.assertEqual(said, "Yours does not store 1 element of o that ours stores. In ours thread (1, 0, 0) of block (1, 0, 0) stores o[2]; "
                         "in yours the last lines that this thread executes begin at my/kernel.cu:1.")

    def test_of_several_launches_it_says_which_one_it_is_about(self):
        def two(second):
            return trail(*_OURS, (*second, 1))

        said, _ = first_wrong(two((_STORE, 0, 1, "o", 1, 9.0)), two((_STORE, 0, 1, "o", 1, 4.0)))
        self.assertEqual(said[0], "In launch 2 of 2, kernel1:")
        said, _ = first_wrong(two((_LOAD, 0, 1, "k", 5, 3.0)), two((_STORE, 0, 1, "o", 1, 4.0)))
        self.assertEqual(said[:2], ["In launch 2 of 2, kernel1:", "Yours does not store 1 element of o that ours stores."])

    def test_a_return_that_has_the_line_of_an_earlier_one_is_not_blamed(self):
        mine = [(_LOAD, 0, 0, "k", 1, 1.0), (_LOAD, 0, 0, "k", 2, 1.0), (_STORE, 0, 1, "o", 1, 3.0)]
        for places, line in (((0, 1), 2), ((1, 0), 2), ((0, 99), 1)):
            said = " ".join(first_wrong(trail(*mine, ends=[(1, 1, *places)]), trail(*_OURS[2:]))[0])
            self.assertIn(f"that this thread executes begin at my/kernel.cu:{line}.", said)

    def test_the_same_work_in_another_order_is_not_accused(self):
        self.assertEqual(self.said(_OURS[3], *_OURS[:3]), "")
        # another rounding
        self.assertEqual(self.said(*_OURS[:2], (_STORE, 0, 1, "o", 1, 3.0001), _OURS[3]), "")

    def test_an_element_that_our_block_never_reads_is_named_first(self):
        said = self.said((_LOAD, 0, 1, "k", 3, 0), (_STORE, 0, 1, "kv_smem", 6, 2.5))
        self.assertRegex(said, r"^First element that only your block reads: k\(t=0, j=3\) at my/kernel.cu:1 by .*\. First difference")
        # Other blocks do the same work elsewhere, so nothing is reported about shared memory and
        # single blocks.
        self.assertEqual(self.said((_LOAD, 3, 1, "k", 5, 0), (_STORE, 3, 1, "kv_smem", 6, 2.5), *_OURS[2:], grid=(4, 1, 1)), "")

    def test_what_ours_reads_and_yours_does_not_is_counted(self):
        self.assertIn("Our block also reads 1 element of k (the first is k(t=1, j=1)); yours does not.", self.said((_STORE, 0, 1, "o", 1, 9.0)))

    def test_what_the_same_thread_has_stored_may_be_read_without_a_load(self):
        ours = ((_LOAD, 0, 1, "o", 1, 7.0), (_STORE, 0, 1, "o", 1, 3.0))
        said = self.said((_STORE, 0, 1, "o", 1, 9.0), ours=ours)
        self.assertIn("Our block also reads 1 element of o (the first is o[1]); yours overwrites it before it reads it, or does not read it.", said)
        # nothing stores to k
        said = self.said((_STORE, 0, 1, "o", 1, 9.0), ours=((_LOAD, 0, 1, "k", 5, 0), *ours))
        self.assertIn("Our block also reads 1 element of k (the first is k(t=1, j=1)); yours does not.", said)

    def test_all_that_ours_reads_of_an_array_is_counted_also_what_may_be_in_registers(self):
        ours = (*((_LOAD, 0, 1, "o", element, 7.0) for element in (1, 2, 3)), (_STORE, 0, 1, "o", 1, 3.0))
        said = self.said((_STORE, 0, 1, "o", 1, 9.0), ours=ours)
        self.assertIn("Our block also reads 3 elements of o (the first is o[1]); yours does not, except perhaps one of them, which its thread stored itself and may have in a register.", said)

    def test_an_element_of_several_words_counts_once(self):
        with mock.patch.dict(_ARRAYS[2], bytes=16, axes=[["[]", 4]]):
            ours = (*((_LOAD, 0, 1, "kv_smem", word, 7.0) for word in range(4, 12)), (_STORE, 0, 1, "o", 1, 3.0))
            self.assertIn("Our block also reads 2 elements of kv_smem (the first is kv_smem[1]); yours does not.", self.said((_STORE, 0, 1, "o", 1, 9.0), ours=ours))

    def test_of_shared_memory_under_another_name_nothing_is_missed(self):
        ours = trail((_LOAD, 0, 1, "kv_smem", 6, 7.0), (_STORE, 0, 1, "o", 1, 3.0))
        with mock.patch.dict(_ARRAYS[2], name="part_smem"):
            renamed = trail((_LOAD, 0, 1, "part_smem", 6, 7.0), (_STORE, 0, 1, "o", 1, 9.0))
        self.assertNotIn("kv_smem", " ".join(first_wrong(renamed, ours)[0]))

    def test_numbers_that_differ_are_not_taken_for_pairs_of_16_bits(self):
        ours = [(_STORE, 0, 1, "o", element, number) for element, number in ((1, 0.0423), (2, 1e-41), (3, 60000.0))]
        self.assertIn("o[1] = 1.494", self.said((_STORE, 0, 1, "o", 1, 1.494), ours=ours))
        self.assertIn("o[1] = 0.0432", self.said((_STORE, 0, 1, "o", 1, 0.0432), (_STORE, 0, 1, "o", 2, 0), ours=[ours[0], ours[1]]))

    def test_an_array_without_a_name_is_none(self):
        touch = first_wrong(trail((_STORE, 1, 1, "o", 2, 9.0)), trail(*_OURS))[1]
        with mock.patch.dict(touch.kind, name="an allocation of 512 bytes"):
            self.assertEqual(touch.name(), "element 2 of an allocation of 512 bytes")

    def test_several_values_of_ours_come_one_after_the_other_and_clearing_is_none(self):
        ours = [(_STORE, 0, 1, "o", 1, number) for number in (0.0, -3.5, -4.5)]
        self.assertIn("; ours stores -3.5, -4.5 there, in this order.", self.said((_STORE, 0, 1, "o", 1, 9.0), ours=ours))
        self.assertIn("; ours stores -3.5.", self.said((_STORE, 0, 1, "o", 1, 9.0), ours=ours[:2]))
        self.assertIn("; ours stores 0.", self.said((_STORE, 0, 1, "o", 1, 9.0), ours=ours[:1]))

    def test_of_atomics_the_last_sum_counts(self):
        ours = ((_ATOMIC, 0, 1, "o", 1, 1.0), (_ATOMIC, 0, 2, "o", 1, 3.0))
        self.assertEqual(self.said((_ATOMIC, 0, 2, "o", 1, 2.0), (_ATOMIC, 0, 1, "o", 1, 3.0), ours=ours), "")
        self.assertIn("the atomics add up to 5 in o[1]; ours stores 3. The last one is at my/kernel.cu:2", self.said((_ATOMIC, 0, 2, "o", 1, 2.0), (_ATOMIC, 0, 1, "o", 1, 5.0), ours=ours))

    def test_what_is_never_stored_is_counted(self):
        self.assertEqual(self.said(*_OURS[:3]), "Yours does not store 1 element of o that ours stores.")

    def test_the_page_opens_at_the_step_that_stores_it(self):
        touch = first_wrong(trail((_STORE, 1, 1, "o", 2, 9.0)), trail(*_OURS))[1]
        sites = [{"file": "my/kernel.cu", "line": line} for line in (7, 1)]
        steps = [{"site": site, "block": [block, 0, 0], "warp": warp} for site, block, warp in ((0, 1, 0), (1, 0, 0), (1, 1, 1), (1, 1, 0))]
        self.assertEqual(touch.is_in({"sites": sites, "steps": steps}), 3)
        self.assertIsNone(touch.is_in({"sites": sites, "steps": steps[:3]}))

    def test_of_a_run_that_was_too_long_the_launches_before_the_last_are_compared(self):
        wrong = (_STORE, 0, 1, "o", 1, 9.0)
        self.assertEqual(self.said(wrong, complete=False), "")
        self.assertEqual(self.said(complete=False), "", "nothing was kept")
        self.assertIn("o[1] = 9 at", self.said(wrong, (*_OURS[3], 1), complete=False, ours=(*_OURS, (*_OURS[3], 1))))
        self.assertEqual(self.said(*_OURS, (*wrong, 1), complete=False, ours=(*_OURS, (*_OURS[3], 1))), "", "the last may lack its end")

    def test_values_that_stand_at_other_elements_are_said_to_stand_there(self):
        ours = [(_STORE, 0, element, "k", element, 1.5 + element) for element in range(8)]
        # 4 x 2 instead of 2 x 4
        moved = [(_STORE, 0, element, "k", element, 1.5 + element % 2 * 4 + element // 2) for element in range(8)]
        self.assertIn("k(t=0, j=1) = 5.5 at my/kernel.cu:2 by thread (1, 0, 0) of block (0, 0, 0); ours stores 2.5. "
                      "Ours stores this value in k(t=1, j=0), and most values of k that differ are right at another element, too.", self.said(*moved, ours=ours))
        shifted = [(_STORE, 0, 0, "k", 0, 0.0)] + [(_STORE, 0, element, "k", element, 0.5 + element) for element in range(1, 9)]
        self.assertIn("Ours stores your value of k(t=0, j=1) in k(t=0, j=0), and most values",
                      self.said(*shifted, ours=(*ours, (_STORE, 0, 8, "k", 8, 0.0))), "a zero is in many places")
        # 0.75, 1.25, ...: only some are values of other elements
        halved = [(*each[:5], each[5] / 2) for each in ours]
        self.assertNotIn("right at another element", self.said(*halved, ours=ours))
