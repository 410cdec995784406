#!/usr/bin/env python3
"""Finds products of 32 bits that become 64-bit offsets in kernels. They are right for every size in
a test and wrong past 2^31 elements."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nvcc import ROOT

HEADERS = ("cuda_runtime.h", "common/core/lists.hpp", "common/core/registry.hpp", "common/cuda/check.hpp", "common/cuda/shared_memory.hpp")
FLAGS = ("-std=c++20", "-DNDEBUG", "-Wno-unknown-pragmas", "-Wshorten-64-to-32", f"-I{ROOT}", f"-I{ROOT}/common/emulator/include")
# Matches 32-bit products, alone or in a 32-bit sum, that are converted to 64 bits, added to a
# pointer, or used as an index. "AsIs" also matches instantiated templates, which clang-tidy skips.
QUERY = """set traversal AsIs
set output diag
set bind-root false
let narrow hasType(hasCanonicalType(anyOf(asString("int"), asString("const int"), asString("unsigned int"), asString("const unsigned int"))))
let wide hasType(hasCanonicalType(anyOf(asString("long"), asString("const long"), asString("unsigned long"), asString("const unsigned long"))))
let product binaryOperator(hasAnyOperatorName("*", "<<"), narrow)
let sum binaryOperator(hasAnyOperatorName("+", "-"), narrow, hasEitherOperand(ignoringParenImpCasts(product)))
let sums binaryOperator(hasAnyOperatorName("+", "-"), narrow, hasEitherOperand(ignoringParenImpCasts(anyOf(product, sum))))
let large binaryOperator(hasOperatorName("*"), wide)
let larger binaryOperator(hasOperatorName("*"), wide, hasEitherOperand(ignoringParenImpCasts(large)))
match cxxStaticCastExpr(hasType(asString("int")), hasSourceExpression(ignoringParenImpCasts(expr(larger).bind("cut"))))
match implicitCastExpr(wide, hasSourceExpression(ignoringParens(expr(anyOf(product, sums)).bind("number"))))
match binaryOperator(hasAnyOperatorName("+", "-", "+=", "-="), hasType(pointerType()), hasEitherOperand(ignoringParens(expr(anyOf(product, sums)).bind("offset"))))
match arraySubscriptExpr(hasIndex(ignoringParens(expr(anyOf(product, sums)).bind("offset"))))
let call cxxOperatorCallExpr(narrow, hasOverloadedOperatorName("()"))
match binaryOperator(hasAnyOperatorName("+", "-"), hasType(pointerType()), hasEitherOperand(ignoringParenImpCasts(expr(call).bind("call"))))
match arraySubscriptExpr(hasIndex(ignoringParenImpCasts(expr(call).bind("call"))))
"""
_SAID = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?:warning|note): (?P<words>.*)$")
# A factor that is not an array's size: a constant of the kernel, a thread's index in its warp or
# block, a head (at most 65,535 in a grid), or a row of a state (at most 256).
_SMALL = re.compile(r"(\d+u?|(\w+::)*k[A-Z]\w*|sizeof\b.*|lane|warp|threadIdx\.x|(\w+\.)?(kv_)?head|(\w+\.)?channel\(.*\)|\([^()]* \? \d+ : \d+\))")
_POINTER = re.compile(r"(args|forward|backward|work)\.\w+\)?( \+ [\w.]+)*( [+-] |\[)$")


def expression_at(text):
    """The expression that begins here, up to the end of its brackets or statement."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (depth == 0 and re.match(r"[,;]| (?!<< )[?:<>=&|]", text[at:])):
            return text[:at]
    return text


def parts(text, operators):
    """The parts between these operators, with brackets kept whole."""
    found, depth = [""], 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and letter in operators and text[at - 1:at] == " ":
            found.append("")
        else:
            found[-1] += letter
    return [each.strip() for each in found]


def without_brackets(text):
    """The text without the brackets that enclose all of it."""
    while text.startswith("(") and expression_at(text[1:]) == text[1:-1]:
        text = text[1:-1]
    return text


def products_at(text):
    """The factors of each product of the sum that begins here."""
    terms = map(without_brackets, parts(without_brackets(expression_at(text)), "+-"))
    products = [parts(term.replace(" << ", " * "), "*/%") for term in terms]
    return [factors for factors in products if len(factors) > 1]


def cut_and_multiplied(factors):
    """Whether a product of sizes is first cast to 32 bits: `static_cast<int>(b * T + t) *
    kSize`."""
    for factor in factors:
        cast = re.fullmatch(r"static_cast<(?:int|unsigned)>(\(.*\))", factor)
        if cast and not all(any(map(_SMALL.fullmatch, each)) for each in products_at(cast[1])):
            return True
    return False


def cut(words, code):
    """A sentence if a number loses bits. `code` begins at the operator."""
    if "loses integer precision" in words and code[:2] in ("* ", "+ "):
        return "a number of 64 bits is cut to 32 after this operator"
    return None


def fault(kind, before, code):
    """A sentence, or None. `code` begins with the product or its sum, `before` is the text before
    it."""
    if kind == "cut":
        return "a product of three sizes or more is cut to 32 bits"
    if kind == "call":
        return "this lambda returns 32 bits, for the offset of an array of any size" if _POINTER.search(before) else None
    products = products_at(code)
    if any(map(cut_and_multiplied, products)):
        return "a number of 64 bits is cut to 32, and this product of it is used as one of 64"
    large = [factors for factors in products if not any(map(_SMALL.fullmatch, factors))]
    if kind == "number":
        of_blocks = [factors for factors in products if any(each.startswith("blockIdx.x") for each in factors)]
        return "this product has 32 bits, and is used as a number of 64" if large or of_blocks else None
    # A constant times a number of rows is as wrong as a size times it. `first_row` is a row of a
    # tile.
    small = any(re.fullmatch(r"lane|warp|threadIdx\.x|first_row|(\w+\.)?(kv_)?head", each) for factors in products for each in factors)
    pointer = _POINTER.search(before)
    if pointer and not small and (large or not pointer[2]):
        return "this product has 32 bits, and is the offset of an array of any size"
    return None


def faults_in(source, folder, flags=()):
    """{(file, line): sentence} for one source; `folder` contains the lesson's own headers."""
    with tempfile.NamedTemporaryFile("w", suffix=".query") as query:
        query.write(QUERY)
        query.flush()
        done = subprocess.run(["clang-query", "-f", query.name, source, "--", *FLAGS, *flags, f"-I{folder}"], capture_output=True, text=True)
    said = done.stderr + done.stdout
    if done.returncode != 0 or " error: " in said:
        raise SystemExit(f"check_widths: clang-query does not understand {source}:\n{said[:2000]}")
    lines, found = {}, {}
    for match in map(_SAID.match, said.splitlines()):
        if not match:
            continue
        path, line, column = match["file"], int(match["line"]), int(match["column"]) - 1
        if path.startswith("/usr/"):
            continue
        if path not in lines:
            lines[path] = Path(path).read_text(errors="replace").splitlines()
        text = lines[path][line - 1]
        bound = re.fullmatch(r'"(\w+)" binds here', match["words"])
        if bound:
            sentence = fault(bound[1], text[:column], text[column:])
        else:
            sentence = cut(match["words"], text[column:])
        if sentence:
            found[path, line] = f"{sentence}: {text.strip()}"
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tools/upkeep/check_widths.py", description="Asks clang-query for each kernel, as the emulator's build has "
                                     "rewritten it: is a product of 32 bits used as an offset of 64, or an offset of 64 kept in 32?")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="FOLDER", help="default: build")
    options = parser.parse_args(arguments)
    rewritten = options.build.resolve() / "emulated"
    sources = sorted(path for path in rewritten.glob("[0-9]*/**/*.cu.cpp") if not re.search(r"(exercise|scratch)(_sm90)?\.cu\.cpp$", path.name))
    sources = [path for path in sources if (ROOT / path.relative_to(rewritten)).with_suffix("").exists()]
    if len(sources) < 10:
        raise SystemExit(f"check_widths: {rewritten} holds {len(sources)} kernels; ./ladder test builds them")
    with tempfile.TemporaryDirectory() as place:
        header, parsed = Path(place) / "headers.hpp", Path(place) / "headers.pch"
        header.write_text("".join(f'#include "{each}"\n' for each in HEADERS))
        subprocess.run(["clang++", *FLAGS, "-x", "c++-header", header, "-o", parsed], check=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            each_ones = pool.map(lambda source: faults_in(source, ROOT / source.relative_to(rewritten).parent, ("-include-pch", parsed)), sources)
            found = {}
            for faults in each_ones:
                found.update(faults)
    for (file, line), sentence in sorted(found.items()):
        path = Path(file)
        if path.is_relative_to(rewritten):  # its first line names the original
            path, line = path.relative_to(rewritten).with_suffix(""), line - 1
        elif path.is_relative_to(ROOT):
            path = path.relative_to(ROOT)
        print(f"{path}:{line}: {sentence}")
    print(f"{len(sources)} kernels, {len(found)} products that may be widened too late")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
