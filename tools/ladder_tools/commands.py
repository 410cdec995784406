"""The commands that the script `ladder` hands over."""
import errno
import os
import sys

from ladder_tools.book import book
from ladder_tools.building import Build
from ladder_tools.check import check
from ladder_tools.exercise import exercise
from ladder_tools.learning import diff, learn, prepare
from ladder_tools.new import new
from ladder_tools.pack import pack
from ladder_tools.place import ROOT, Failed, Refused, ToRead, refused
from ladder_tools.programs import apply, run, xray
from ladder_tools.room import room
from ladder_tools.testing import test
from ladder_tools.which import compare, which
from ladder_tools.wheel import python


def configure(words, preset, caller):
    del caller
    if words:
        raise Refused("configure takes no arguments")
    Build(preset).prepare()
    return 0


COMMANDS = {"run": run, "test": test, "xray": xray, "exercise": exercise, "learn": learn, "prepare": prepare, "diff": diff, "new": new,
            "pack": pack, "room": room, "configure": configure, "apply": apply, "check": check, "which": which, "compare": compare, "python": python, "book": book}

_OF_THE_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main():
    """usage: commands PRESET CALLER COMMAND WORD...    (paths in the words are relative to
    CALLER)"""
    preset, caller, command, *words = sys.argv[1:]
    sys.stdout.reconfigure(line_buffering=True)
    try:
        if command not in COMMANDS:
            raise refused("command", command, [*COMMANDS, "doctor"])
        return COMMANDS[command](words, preset, caller)
    except ToRead as page:
        print(f"ladder: {page}")
        return 0 if command == "exercise" else 2
    except Refused as refusal:
        print(f"ladder: {refusal}\nusage: ./ladder --help shows all commands", file=sys.stderr)
        return 2
    except Failed as failure:
        print(f"ladder: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # ./ladder learn | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as problem:  # another user's file, a full disk, a limit of the shell
        if problem.errno not in _OF_THE_PLACE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        advice = f"\nladder: copy the tree to a folder of your own and run it there: cp -r {ROOT} ~/kernel-ladder" if isinstance(problem, PermissionError) else ""
        print(f"ladder: {problem.filename or 'the output'} cannot be read or written ({problem.strerror}){advice}", file=sys.stderr)
        return 1
