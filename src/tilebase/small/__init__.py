"""Small games in full: the oracle that every engine must equal, and graphs for people and other programs.

Modules, those that the others import first:

    oracle      counts and values with dictionaries and fractions
    mdp         a game as a Markov decision process
    graphs      states and what can follow them
    diagrams    states, actions and chances as a picture
"""
