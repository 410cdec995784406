"""Tests every array argument of every public function with the kinds of arrays that users have:
each is accepted, or rejected by name. Runs in the emulator."""
import inspect
import os
import unittest

import numpy as np
import torch

import kernel_ladder as kl
import kernel_ladder.torch as kt

T, H, K = 5, 2, 64
STATE = (1, H, K, K)
NUMBERS = {  # arguments that are not arrays
    "scale", "reverse", "output_final_state", "state_v_first", "normalize", "chunk_size", "choice",
    "batch_invariant", "causal", "feature_map", "eps", "window", "softcap", "dropout_p",
    "is_causal", "enable_gqa", "options", "operator", "stream", "values"}
SHAPES = {
    **dict.fromkeys(("q", "k", "v", "r", "w", "gk", "g", "log_w", "d_o", "o"), (1, T, H, K)),
    **dict.fromkeys(("query", "key", "value"), (1, H, T, K)),
    **dict.fromkeys(("initial_state", "d_final_state"), STATE), "u": (H, K), "lse": (1, H, T)}
LENGTHS = {"key_lengths": [T], **dict.fromkeys(("cu_seqlens", "cu_seqlens_q", "cu_seqlens_k"),
                                               [0, T])}
# A function, its arrays, and those that may be None.
RECURRENT, PACKED = "q k v log_w u initial_state", "cu_seqlens_q cu_seqlens_k"
CALLS = {
    kl: [("wkv", f"{RECURRENT} cu_seqlens", "u initial_state cu_seqlens"),
         ("gla", "q k v log_w initial_state cu_seqlens", "initial_state cu_seqlens"),
         ("wkv_backward", f"{RECURRENT} d_o d_final_state", "u initial_state d_final_state"),
         ("gla_backward", "q k v log_w d_o initial_state d_final_state",
          "initial_state d_final_state"),
         ("linear_attention", "q k v key_lengths", "key_lengths"),
         ("attention", "q k v key_lengths", "key_lengths"),
         ("attention", f"q k v {PACKED}", ""),
         ("attention_backward", "q k v o lse d_o key_lengths", "key_lengths"),
         ("attention_backward", f"q k v o lse d_o {PACKED}", ""),
         ("run", "q k v log_w u o", ""), ("chosen", "q k v log_w u o", "")],
    kt: [("fused_recurrent_rwkv6", "r k v w u initial_state cu_seqlens",
          "u initial_state cu_seqlens"),
         ("chunk_rwkv6", "r k v w u initial_state cu_seqlens", "u initial_state cu_seqlens"),
         ("fused_recurrent_gla", "q k v gk initial_state cu_seqlens",
          "gk initial_state cu_seqlens"),
         ("chunk_gla", "q k v g initial_state cu_seqlens", "g initial_state cu_seqlens"),
         ("fused_recurrent_linear_attn", "q k v initial_state cu_seqlens",
          "initial_state cu_seqlens"),
         ("chunk_linear_attn", "q k v initial_state cu_seqlens", "initial_state cu_seqlens"),
         ("fused_chunk_linear_attn", "q k v initial_state cu_seqlens",
          "initial_state cu_seqlens"),
         ("scaled_dot_product_attention", "query key value", "")]}
NONE_ONLY = {"gv": ("fused_recurrent_gla", "q k v"),
             "attn_mask": ("scaled_dot_product_attention", "query key value")}
UNUSED = {"cu_seqlens_cpu"}  # ignored, whatever it is


def drawn(name, seed):
    if name in LENGTHS:
        return np.array(LENGTHS[name])
    x = np.random.default_rng(seed).standard_normal(SHAPES[name]).astype(np.float32)
    return -np.abs(x) if name in ("w", "gk", "g", "log_w") else x


def given(names):
    return {name: drawn(name, seed) for seed, name in enumerate(names)}


def other_kinds(x):
    return {"a list": x.tolist(), "a numpy array": x, "a torch tensor": torch.from_numpy(x),
            "None": None, "a string": "x"}


@unittest.skipIf((os.environ.get("KERNEL_LADDER_DEVICE") or "cpu") != "cpu", "arrays of the host")
class ArrayArguments(unittest.TestCase):
    def test_each_is_taken_or_refused_by_its_name(self):
        for module, calls in CALLS.items():
            own = "a numpy array" if module is kl else "a torch tensor"
            for function, names, may_be_none in calls:
                arrays = given(names.split())
                usual = {name: other_kinds(x)[own] for name, x in arrays.items()}
                operator = ("wkv",) * (function in ("run", "chosen"))
                call = getattr(module, function)
                call(*operator, **usual)
                for name, x in arrays.items():
                    taken = [own, "a torch tensor", *["None"] * (name in may_be_none.split())]
                    for kind, value in other_kinds(x).items():
                        if operator and kind == "None":
                            continue  # may be None, or the C interface rejects it
                        with self.subTest(function=call.__name__, name=name, kind=kind):
                            self.expect(kind in taken, name, call, *operator,
                                        **usual | {name: value})

    def expect(self, is_taken, name, call, *arguments, **arrays):
        if is_taken:
            call(*arguments, **arrays)
            return
        with self.assertRaisesRegex((TypeError, ValueError), rf"\b{name}\b"):
            call(*arguments, **arrays)

    def test_what_is_not_there_is_refused_by_its_name(self):
        for name, (function, names) in NONE_ONLY.items():
            usual = {each: torch.from_numpy(x) for each, x in given(names.split()).items()}
            for kind, value in other_kinds(drawn("q", 0)).items():
                with self.subTest(name=name, kind=kind):
                    self.expect(kind == "None", name, getattr(kt, function), **usual,
                                **{name: value})

    def test_the_table_has_them_all(self):
        for module, calls in CALLS.items():
            self.assertEqual({function for function, _, _ in calls}, set(module.__all__))
            for function in module.__all__:
                known = {name for each, names, _ in calls if each == function
                         for name in names.split()} | NUMBERS | UNUSED | set(NONE_ONLY)
                names = set(inspect.signature(getattr(module, function)).parameters)
                self.assertLessEqual(names, known, function)


if __name__ == "__main__":
    unittest.main()
