"""Files: formats, folders and servers.  Nothing that is read is trusted: a stranger may have written it.

Modules, those that the others import first:

    places        the names of files in the folders of runs and tables
    format        the bytes of a layer: compressed chunks, rows and a record, with checksums
    layers        folders of layers: an index and segments, and pages of the index in a table
    store         writing folders of layers
    source        where files are: a folder, a zip file, a URL; and which files results may be written to
    remote        files that a server holds
    manifest      what a table holds, with a checksum of every page of its indexes
    run           the folder of a run: its journal, how to continue after a kill, and how to check it
    keys          layers of keys, encoded by compiled code: the boards of passes, and a part of a table
    solved        the layers of one objective: keys and values
    parcels       what pieces of shared work hand to each other
    policy        the slide of each state in a few bits, for pages that read ranges
    dddmp         binary decision diagrams in text files
    winning       winning sets as such diagrams
    work_folders  folders of runs for which the user named no folder
    schema        the columns of boards in files for other programs
    parquet       layers exported to Parquet

Docs: docs/format.md.
"""
