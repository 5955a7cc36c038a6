"""Small games in full: the oracle that every engine must equal, and graphs for readers and other programs.

Modules, those that the others import first:

    oracle      counts and values with dictionaries and fractions
    layered     pictures of graphs in columns, as SVG and DOT
    graphs      states and the states that can follow them
    diagrams    states, actions and probabilities as a picture
"""
