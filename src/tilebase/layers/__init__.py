"""Storage of layers: the perfect index, bit sets over it, and the folder of a run."""
