"""What publications and runs of this program say about games: claims, and how they agree.

    facts       the lines of the fact files: what was published, and recorded runs
    results     each line as a result that can be cited, and records of commands compared with them

`questions.reproduce` computes the published numbers again.
"""
