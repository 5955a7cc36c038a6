"""Files: formats, folders and servers, each read as if a stranger had written it.

Modules, those that the others import first:

    format        layer files and value files: compressed chunks with an index and checksums
    source        where files are: a folder, a zip file, a URL
    remote        files that a server holds
    recent        the most recently used of some things, within a budget
    manifest      what a table holds, with a checksum of every layer
    findings      what a check of files found
    run           the folder of a run: its journal, and how to continue after a kill
    keys          layers of keys, encoded by compiled code
    reachable     the layers of keys that the forward pass left
    solved        the values of one objective beside those layers
    work_folders  folders of runs that nobody named
    parquet       layers as Parquet, out and in

Docs: docs/format.md.
"""
