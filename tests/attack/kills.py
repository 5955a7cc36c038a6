"""Kills, Ctrl-C and other processes at any point: the same command then goes on as if it had been alone."""

from __future__ import annotations

from pathlib import Path

from attack import workloads
from attack.case import Case
from attack.processes import run, run_together
from attack.workloads import Workload

OTHERS = ("another process", "other process")
"""What a command may say that finds the same command at work."""


def attack(case: Case) -> None:
    """One command, disturbed once to three times, then left alone."""
    rng = case.rng
    work = workloads.choose(rng)
    folder = case.folder / "here"
    workloads.place(work, folder)
    name = work.name
    if rng.random() < 0.15:
        history = together(case, work, folder, name)
    else:
        history = killed(case, work, folder, name)
    lines = f"{work.lines}, {history}"
    for sentence in workloads.half_written(work, folder):
        case.fail(f"{name}: after the kill", sentence, lines)
    goes_on(case, work, folder, lines)


def killed(case: Case, work: Workload, folder: Path, name: str) -> str:
    """Disturb a command; return where."""
    rng, whole, history = case.rng, workloads.undisturbed(work), []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        way = rng.random()
        if way < 0.25:
            alarm = max(1e-4, rng.random() * whole.seconds)
            history.append(f"after {alarm:.4f} s")
            done = run(folder, work.args, alarm=alarm)
        else:
            action = "SIGKILL" if way < 0.8 else "SIGINT"
            point = rng.randint(1, max(whole.points, 1))
            history.append(f"{action} at point {point} of {whole.points}")
            done = run(folder, work.args, point=point, action=action)
            if action == "SIGINT" and (done.complaint or done.status not in (0, 130)):
                lines = f"{work.lines}, {', '.join(history)}"
                case.fail(f"{name}: Ctrl-C", f"status {done.status}: {done.err[-500:]}", lines)
        case.done["kills"] += done.status != 0
    return f"stopped {', then '.join(history)}"


def together(case: Case, work: Workload, folder: Path, name: str) -> str:
    """The same command three times at once: one is done, and the others too, or they say why not."""
    runs = run_together(folder, work.args, 3)
    case.done["commands three times at once"] += 1
    history = "three times at once"
    lines = f"{work.lines}, {history}"
    for done in runs:
        if done.complaint:
            case.fail(f"{name} at once: {done.complaint[:40]}", done.err[-600:], lines)
        elif done.status == 0:
            said = workloads.plain(done.out)
            right = workloads.undisturbed(work).out
            case.expect(
                said == right, f"{name} at once: another answer", f"{said!r} instead of {right!r}", lines
            )
        elif not work.takes_no_turns:
            other = any(word in done.err for word in OTHERS)
            case.expect(other, f"{name} at once: another reason", done.sentence, lines)
    done_by = sum(done.status == 0 for done in runs)
    case.expect(done_by > 0, f"{name} at once: nobody is done", runs[0].sentence, lines)
    return history


def goes_on(case: Case, work: Workload, folder: Path, lines: str) -> None:
    """The same command, alone, gives what it gives undisturbed, and leaves nothing else behind."""
    again = run(folder, work.args, seconds=300)
    if (
        work.takes_no_turns
        and again.status == 1
        and "choose a new folder" in again.err
        and "at once" in lines
    ):
        return
    if again.complaint or again.status:
        case.fail(f"{work.name}: does not go on", f"{again.complaint or again.sentence}", lines)
        return
    whole = workloads.undisturbed(work)
    if workloads.plain(again.out) != whole.out:
        case.fail(f"{work.name}: another answer", f"{again.out!r} instead of {whole.out!r}", lines)
    sentences = workloads.differences(work, folder)
    if sentences:
        case.fail(f"{work.name}: other files", "; ".join(sentences[:5]), lines)
