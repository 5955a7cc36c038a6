"""Files of layers: the format, for readers that need no solver."""
