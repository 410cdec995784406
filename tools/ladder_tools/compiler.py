"""What the compiler says about a learner's file. All regular expressions here are for the words of
g++, clang, ninja and make."""
import re
import sys

from ladder_tools.place import ROOT

# g++'s messages about an argument that the kernel does not accept, with the place of the launch.
_ARGUMENT = re.compile(r"^\S+: +required from .*detail::Configured.*\n(\S+: ) +required from .*\n(?:\S+: +required from .*\n)*"
                       r"\S+: error: static assertion failed: an argument of the launch .*\n(?: .*\n)*"
                       r"\S+: note: .*argument_fits<(\d+), (.*), (.*)>.*$", re.MULTILINE)

# Names that CUDA may have and the emulator may lack.
_LIKE_CUDAS = re.compile(r"error: ['‘](__[a-z]\w*|clock64|(?:cuda|atomic)[A-Z]\w*)['’] "
                         r"(?:was not declared in this scope|does not name a type)")
_UP_TO_MINE = re.compile(r"(?<![\w/.])\.\./(?=my/)")  # ccache makes paths relative


def compiler_messages(log, most_lines=30):
    """The compiler's messages without the build tool's lines, with paths from ROOT. An error in
    every instantiation of a template appears once, with its source line. Errors are sorted by the
    learner's lines."""
    said, lines = [], iter(_ARGUMENT.sub(r"\1error: argument \2 of the launch is \3; the kernel takes \4", log).splitlines())
    for line in lines:
        if line.startswith("FAILED: "):
            next(lines, None)  # the command itself
        elif not re.match(r"\[ *[0-9]+[%/]|ninja: |g?make", line):
            said.append(_UP_TO_MINE.sub("", line.replace(f"{ROOT}/", "")))
    # {place: (lines of the message, count)}; the learner's line that caused the instantiation
    errors, asked_for, words = {}, "", None
    lines_of_mine = {}  # {place: line}
    for line in said:
        error = re.match(r"((?:\S+:\d+:\d+|\S+\(\d+\)): (?:fatal )?error: ).*", line)
        if error:
            words, times = errors.get(error[1], ([line], 0))
            errors[error[1]] = (words, times + 1)
            mine = re.search(r"my/\S*?[:(](\d+)", error[1]) or re.search(r"my/\S*?[:(](\d+)", asked_for)
            lines_of_mine.setdefault(error[1], int(mine[1]) if mine else sys.maxsize)
            if times:
                words = None  # a repetition
            elif asked_for and "my/" not in error[1]:
                words.append(asked_for)
        elif re.match(r" +(\d+ )?\|", line):
            if words is not None:
                words.append(line)
        elif words and ": note:   initializing argument " in line:
            words.append(line)
            words = None
        elif re.search(r"my/.*required from here", line):
            asked_for = line
        else:
            words = None
            if re.search(r": In |^In file included", line):
                asked_for = ""
    if not errors:
        return "\n".join(said[:most_lines])
    shown = ["threadIdx, blockIdx, blockDim and gridDim are not numbers. Use their members .x, .y and .z."] * bool(re.search(r"error: .*'(?:const )?(?:uint3|dim3)'", log))
    shown += [f"The emulator has no {name}. If CUDA has it, your line may be right. "
              f"To check it here, do the same without {name}."
              for name in dict.fromkeys(_LIKE_CUDAS.findall(log))]
    # the cause comes before its consequences
    for _, (words, times) in sorted(errors.items(), key=lambda each: lines_of_mine[each[0]]):
        shown += words + ([f"(and {times - 1} more of the same)"] if times > 1 else [])
    return "\n".join(shown[:most_lines])


def compiler_warnings(log, mine, unfinished, most=3):
    """{the compiler's warning about the learner's file: its line}. An unfinished file has unused
    names, which mean nothing."""
    found = {}  # {(line, kind): sentence}
    for path, line, words, kind in re.findall(r"^(.+?):([0-9]+):[0-9]+: warning: (.*) \[-W([a-z-]+)=?[0-9]*\]$", log, re.MULTILINE):
        if path.endswith(f"/{mine}") and not (unfinished and kind.startswith("unused")):
            found.setdefault((int(line), kind), f"Compiler warning, line {line} of {mine}: {words}")
    return {found[place]: place[0] for place in sorted(found)[:most]}
