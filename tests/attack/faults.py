"""A full disk, a disk that fails, a folder that may not be written: a sentence, and nothing is lost."""

from __future__ import annotations

from attack import workloads
from attack.case import Case
from attack.kills import goes_on
from attack.processes import run
from attack.zygote import ERRORS


def attack(case: Case) -> None:
    """One command with an error of the disk at a random call that touches files; then again without."""
    rng = case.rng
    work = workloads.choose(rng)
    whole = workloads.undisturbed(work)
    folder = case.folder / "here"
    workloads.place(work, folder)
    point, error = rng.randint(1, max(whole.points, 1)), rng.choice(ERRORS)
    lines, name = f"{work.lines}, with {error} at point {point} of {whole.points}", work.name
    failed = run(folder, work.args, point=point, action=error)
    case.done["faults"] += 1
    if failed.complaint:
        case.fail(f"{name}: {failed.complaint[:40]}", failed.err[-600:], lines)
    elif failed.status == 0:
        sentences = workloads.differences(work, folder)
        case.expect(not sentences, f"{name}: done, with other files", "; ".join(sentences[:5]), lines)
        case.done["faults that did not matter"] += 1
    else:
        one = failed.err.strip().count("\n") == 0 and failed.err.startswith("tilebase: ")
        case.expect(one, f"{name}: not one sentence", failed.err[-600:], lines)
        wrong = "cannot write the output" in failed.err
        case.expect(not wrong, f"{name}: blames the output", failed.sentence, lines)
    for sentence in workloads.half_written(work, folder):
        case.fail(f"{name}: after the fault", sentence, lines)
    goes_on(case, work, folder, lines)
