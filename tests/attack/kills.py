"""Kills at any point: the same command then goes on, and its files are those of an undisturbed run."""

from __future__ import annotations

from attack import workloads
from attack.case import Case
from attack.processes import run


def attack(case: Case) -> None:
    """One command, killed once to three times, then left alone."""
    rng = case.rng
    work = workloads.choose(rng)
    whole = workloads.undisturbed(work)
    folder = case.folder / "here"
    workloads.place(work, folder)
    history = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if rng.random() < 0.75:
            point = rng.randint(1, max(whole.points, 1))
            history.append(f"point {point} of {whole.points}")
            killed = run(folder, work.args, point=point, action="kill")
        else:
            alarm = max(1e-4, rng.random() * whole.seconds)
            history.append(f"after {alarm:.4f} s")
            killed = run(folder, work.args, alarm=alarm)
        case.done["kills"] += killed.status in (-9, -14)
    lines = f"tilebase {' '.join(work.args)}, killed at {', then at '.join(history)}"
    for before in reversed(work.before):
        lines = f"tilebase {' '.join(before)}\n{lines}"
    name = " ".join(
        work.args[:1] + tuple(word for word in work.args if word in ("all", "-o", "--work", "-c"))
    )
    for sentence in workloads.half_written(work, folder):
        case.fail(f"{name}: after the kill", sentence, lines)
    again = run(folder, work.args, seconds=300)
    if again.complaint or again.status:
        case.fail(f"{name}: does not go on", f"{again.complaint or again.sentence}", lines)
        return
    if workloads.plain(again.out) != whole.out:
        case.fail(f"{name}: another answer", f"{again.out!r} instead of {whole.out!r}", lines)
    sentences = workloads.differences(work, folder)
    if sentences:
        case.fail(f"{name}: other files", "; ".join(sentences[:5]), lines)
