"""usage: must_fail mistake TEST PROGRAM PATCH SOURCE
       must_fail stub TEST PROGRAM STUB    (for a kernel from scratch its more/scratch.holes)
       must_fail boss TEST PROGRAM PATCH

Checks a program that must fail.
- A mistake's program must end with failing tests, one of which reports the diagnosis that the
  patch announces in its second line.
- A stub's program must end with a failing test that reports WRONG RESULT. Its holes must give
  their size and budget, the README must have three hints for each, and solving the stub must only
  add lines, apart from those that go with a hole. A stub that is the previous step's kernel must be
  right and over budget.
- The X-ray must report in a boss's program what the patch announces, in a line of the kernel; for a
  kernel on the CPU a test must report it. The reason must be one that a learner may answer."""
import os
import re
import sys
from pathlib import Path

from ladder_tools import gtest
from ladder_tools.cases import first_tests
from ladder_tools.boss import Boss, without_lines
from ladder_tools.hints import Hints
from ladder_tools.place import ROOT, Exercise, lesson_of, registered_names
from ladder_tools.patches import fault_of, header

_SECONDS = 600
_PARTS = 12
_NO_LONG_SEQUENCES = "-*1000*"  # they repeat what short ones cover


def said(done, words):
    return any(words in failure for test in done.tests for failure in test["failures"])


def wrong_end(done, why):
    print(done.text[-3000:])
    ended = f"was {done.how_it_ended(_SECONDS)}" if done.timed_out else f"ends with {done.status}"
    return f"the program {ended}; it should end with 1, because {why}"


def faults_of_mistake(program, patch, source):
    patch = Path(patch).read_text()
    diagnosis = header(patch, "diagnosis")
    faults = [f"the patch has no line '# {word}: ...'" for word in ("mistake", "diagnosis") if not header(patch, word)]
    if faults:
        return faults
    # Run only the tests of the registered names, or all if the file registers none.
    names = (":".join(f"{name}.*" for name in registered_names(Path(source).read_text())) or "*") + _NO_LONG_SEQUENCES
    # A diagnosis is slow, and the first failure usually names the mistake. If not, try the first
    # failure of each part, and at last all tests. The small case of a stage words its failure
    # differently from the plain case, so it comes last.
    parts = [{"GTEST_TOTAL_SHARDS": str(_PARTS), "GTEST_SHARD_INDEX": str(part)} for part in range(_PARTS)]
    tries = [(f"{names}:*.Stage*", ["--gtest_fail_fast"], environment) for environment in ({}, *parts)]
    for test_filter, options, environment in [*tries, (names, [], {})]:
        done = gtest.run(program, _SECONDS, *options, test_filter=test_filter, environment=environment)
        if options and done.status == 0:
            continue
        if done.timed_out or done.status != 1:
            return [wrong_end(done, "tests fail")]
        if said(done, diagnosis):
            print(f"noticed:  {header(patch, 'mistake')}\nreported: {diagnosis}")
            return []
    named = dict.fromkeys(line for result in done.facts("wrong result") for line in result["name"])
    print(f"no failing test reports '{diagnosis}'; " + "\n  ".join(["they report:", *named] if named else ["none names a misconception"]))
    return [f"no failing test reports '{diagnosis}'"]


def faults_of_holes(exercise):
    stub = exercise.text
    faults = [] if exercise.holes() else ["the stub has no numbered TODO"]
    for hole in exercise.holes():
        lines = "\n".join(line for line in stub.splitlines() if f"TODO({hole})" in line)
        if not re.search(r"roughly [0-9]* line", lines):
            faults.append(f"hole {hole} does not give its number of lines (roughly N lines)")
        if "budget:" not in lines:
            faults.append(f"hole {hole} names no budget")
        hints = [title for title, text in Hints(exercise).texts(hole) if text]
        if hints != ["Nudge", "Formula", "Nearly code"]:
            faults.append(f"{exercise.page.name}'s hints for {exercise.piece} {hole} are {hints}; they should be Nudge, Formula and Nearly code")
    fault = fault_of(exercise)
    return faults + [fault] if fault else faults


def faults_of_stub(program, stub):
    exercise = Exercise(Path(stub).resolve().relative_to(ROOT))
    faults = faults_of_holes(exercise)
    if exercise.begins_with:  # a right kernel that is over its lesson's budget
        names = gtest.names_of(Path(program), without="xray_test.cpp")
        done = gtest.run(program, _SECONDS, test_filter=":".join(first_tests(names)))
        faults += [] if done.succeeded else [wrong_end(done, "it is right")]
        done = gtest.run(program, _SECONDS, test_filter="*.KeepsItsBudget")
        return faults + ([wrong_end(done, "it is over budget")] if done.timed_out or done.status != 1 else [])
    done = gtest.run(program, _SECONDS, "--gtest_fail_fast", test_filter=_NO_LONG_SEQUENCES)
    if done.timed_out or done.status != 1:
        return faults + [wrong_end(done, "a test fails")]
    # in a deadlock it waits for what a hole would have done
    waits = any(launch["kind"] == "deadlock" for test in done.tests for failure in test["failures"]
                for launch in failure.ends())
    if not waits and not said(done, "WRONG RESULT"):
        print(done.text[-3000:])
        faults.append("the failing test does not report WRONG RESULT, or a deadlock")
    return faults


def faults_of_boss(program, patch):
    boss = Boss(f"{lesson_of(Path(patch).resolve().relative_to(ROOT))}.boss")
    faults = [f"the patch has no line '# {word}: ...'" for word in ("test", "shows", "why") if not getattr(boss, word)]
    if boss.reason not in boss.reasons:
        faults.append(f"its reason is '{boss.reason}'; allowed: {' '.join(boss.reasons)}")
    if not boss.lines():
        faults.append("the patch changes nothing")
    findings = boss.findings(program, _SECONDS)
    seen = [finding for finding in findings if finding.startswith(boss.shows) and (boss.on_the_cpu or any("/kernel.cu:" in places[0] for places in getattr(finding, "parties", ())))]
    if not seen:
        who = f"{boss.test} does not report '{boss.shows}'" if boss.on_the_cpu else f"the X-ray does not report '{boss.shows}' in a line of the kernel, in {boss.test}"
        faults.append(f"{who}; it reports: {findings}")
    if any(re.search(r"\.(cu|hpp|cpp):[0-9]", without_lines(finding)) for finding in findings):
        faults.append(f"a finding gives its line away: {[without_lines(finding) for finding in findings]}")
    return faults


def main(arguments=None):
    kind, test, program, *files = arguments or sys.argv[1:]
    # the program's own skips are not skips of this test
    skip_log = os.environ.pop("LADDER_SKIP_LOG", None)
    if not Path(program).exists():
        reason = f"not built; ./ladder test {test} builds and runs it"
        print(f"SKIPPED: {reason}")
        if skip_log:
            with open(skip_log, "a") as log:
                log.write(f"{test}: {reason}\n")
        return 0
    faults = {"mistake": faults_of_mistake, "stub": faults_of_stub, "boss": faults_of_boss}[kind](program, *files)
    for fault in faults:
        print(f"{test}: {fault}")
    return 1 if faults else 0
