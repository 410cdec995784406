"""Gives what an object file defines names of its own, so that it can be linked beside another with the same names: a learner's copy of a
lesson beside the lesson. usage: rename_symbols OBJECT RESULT NAMESPACE"""
import subprocess
import sys
import tempfile


def new_names(listed, namespace):
    """{old: new} for `listed`, what `nm --defined-only --format=posix` says: all that may be defined once only, and of what several files
    may define (templates) that of the namespace."""
    mark = f"{len(namespace)}{namespace}"  # as names are mangled
    found = {}
    for line in listed.splitlines():
        name, kind, *_ = line.split()
        if kind in "TDBRC" or kind in "WVun" and mark in name:  # n: what a group of sections, such as a constructor's, is called
            found[name] = f"{name}.yours"
    return found


def main(arguments=None):
    source, result, namespace = arguments or sys.argv[1:]
    listed = subprocess.run(["nm", "--defined-only", "--format=posix", source], stdout=subprocess.PIPE, text=True, check=True).stdout
    with tempfile.NamedTemporaryFile("w") as names:
        names.write("".join(f"{old} {new}\n" for old, new in new_names(listed, namespace).items()))
        names.flush()
        return subprocess.run(["objcopy", f"--redefine-syms={names.name}", source, result]).returncode
