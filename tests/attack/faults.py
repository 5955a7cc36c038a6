"""A full disk, a disk that fails, a folder that may not be written: a sentence, and nothing is lost."""

from __future__ import annotations

from attack import workloads
from attack.case import Case
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
    lines = f"tilebase {' '.join(work.args)}, with {error} at point {point} of {whole.points}"
    for before in reversed(work.before):
        lines = f"tilebase {' '.join(before)}\n{lines}"
    name = " ".join(
        work.args[:1] + tuple(word for word in work.args if word in ("all", "-o", "--work", "-c"))
    )
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
    again = run(folder, work.args, seconds=300)
    if again.complaint or again.status:
        case.fail(f"{name}: does not go on", f"{again.complaint or again.sentence}", lines)
        return
    if workloads.plain(again.out) != whole.out:
        case.fail(f"{name}: another answer", f"{again.out!r} instead of {whole.out!r}", lines)
    sentences = workloads.differences(work, folder)
    if sentences:
        case.fail(f"{name}: other files", "; ".join(sentences[:5]), lines)
