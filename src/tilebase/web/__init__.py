"""The explorer: a server for tables, with a JSON interface, and the page that it serves.

Modules, those that the others import first:

    collection   the tables, winning sets and certificates that are served, and games that are being solved
    documents    games, positions, spawns and layers as JSON, the rules of a game in sentences, and diagrams
    schemas      what these documents look like, as JSON Schema
    operations   each request of the interface: its path, its parameters, what it answers and what it costs;
                 and the description of the interface, made from these
    connections  how long connections may wait, how many there may be, and how much one client may ask
    app          the web application and the server
    export       a page that plays a table without a server, for any web host
    explorer/    the page: HTML, CSS and JavaScript modules without a build step
    player/      the page that plays a table without a server; `export` writes it
"""
