"""Kills, Ctrl-C, faults of the disk and other processes: the same command then goes on as if alone."""

from __future__ import annotations

from pathlib import Path

from attack import workloads
from attack.case import Case
from attack.processes import ERRORS, run, server
from attack.workloads import Workload


def attack(case: Case) -> None:
    """One command, disturbed once to three times, then left alone."""
    work, folder = case.rng.choice(workloads.workloads()), case.folder / "here"
    workloads.place(work, folder)
    if case.rng.random() < 0.1:
        lines = together(case, work, folder)
    else:
        lines = disturbed(case, work, folder)
    for sentence in workloads.half_written(work, folder):
        case.fail(f"{work.name}: after the kill", sentence, lines)
    goes_on(case, work, folder, lines)


def disturbed(case: Case, work: Workload, folder: Path) -> str:
    """Kill or interrupt a command, or let a call that touches a file fail: it then says one sentence."""
    rng, whole, lines = case.rng, workloads.undisturbed(work), work.lines
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        point = rng.randint(1, max(whole.points, 1))
        action = rng.choice(("alarm", "SIGKILL", "SIGKILL", "SIGINT", *ERRORS[:3], rng.choice(ERRORS)))
        if action == "alarm":
            alarm = max(1e-4, rng.random() * whole.seconds)
            lines += f", stopped after {alarm:.4f} s"
            run(folder, work.args, alarm=alarm)
            continue
        lines += f", {action} at point {point} of {whole.points}"
        done = run(folder, work.args, point=point, action=action)
        case.done[action] += 1
        if action == "SIGINT":
            ended = not done.complaint and done.status in (0, 130)
            case.expect(ended, f"{work.name}: Ctrl-C", f"status {done.status}: {done.err[-500:]}", lines)
        elif action in ERRORS and done.complaint:
            case.fail(f"{work.name}: {done.complaint[:40]}", done.err[-600:], lines)
        elif action in ERRORS and done.status:
            one = done.err.strip().count("\n") == 0 and done.err.startswith("tilebase: ")
            one = one and "cannot write the output" not in done.err
            case.expect(one, f"{work.name}: not one sentence", done.err[-600:], lines)
        elif action in ERRORS:
            sentences = workloads.differences(work, folder)
            case.expect(not sentences, f"{work.name}: done, with other files", str(sentences[:5]), lines)
    return lines


def together(case: Case, work: Workload, folder: Path) -> str:
    """The same command three times at once: one is done, and the others too, or they say why not."""
    runs, lines, name = (
        server().run(folder, work.args, copies=3),
        f"{work.lines}, three times at once",
        work.name,
    )
    right = workloads.undisturbed(work).out
    case.done["commands three times at once"] += 1
    for done in runs:
        if done.complaint:
            case.fail(f"{name} at once: {done.complaint[:40]}", done.err[-600:], lines)
        elif done.status == 0:
            said = workloads.plain(done.out)
            case.expect(said == right, f"{name} at once: another answer", f"{said!r}, not {right!r}", lines)
        elif not work.takes_no_turns:
            case.expect("other process" in done.err, f"{name} at once: another reason", done.sentence, lines)
    done_by = sum(done.status == 0 for done in runs)
    case.expect(done_by > 0, f"{name} at once: nobody is done", runs[0].sentence, lines)
    return lines


def goes_on(case: Case, work: Workload, folder: Path, lines: str) -> None:
    """The same command, alone, gives what it gives undisturbed, and leaves nothing else behind."""
    again, whole = run(folder, work.args, seconds=300), workloads.undisturbed(work)
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
    said = workloads.plain(again.out)
    case.expect(said == whole.out, f"{work.name}: another answer", f"{said!r}, not {whole.out!r}", lines)
    sentences = workloads.differences(work, folder)
    case.expect(not sentences, f"{work.name}: other files", "; ".join(sentences[:5]), lines)
