"""Attacks from outside: random questions, hostile files, and what must not come of them.

``scripts/attack`` runs them with counts and seeds for hours, ``tests/test_attack.py`` in a quick form.
An attack is a module with a function ``attack(case)``.  It makes one case from the seed of `case`, and
calls `Case.fail` for each thing that is not as the documentation promises.  Nothing else counts as a
failure: a refusal in one sentence is an answer wherever the documentation allows one.
"""
