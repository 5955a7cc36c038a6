"""Claims: published and recorded results, how they are cited, and whether they agree.

    facts       the lines of the fact files: what was published, and recorded runs
    results     each line as a result that can be cited, and records of commands compared with them

`questions.reproduce` computes the published numbers again.
"""
