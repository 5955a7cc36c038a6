"""Mutation: `scripts/mutate` changes one operator, constant or comparison, and the tests must notice.

`changes` finds what can be changed in a file and draws a sample; `judge` runs the tests on a changed copy;
`__main__` is the command and keeps the journal.  Two tables belong to it: sources.tsv names the tests that
should notice a change of each file, and equivalent.tsv holds changes that alter no answer, with the reason.
"""
