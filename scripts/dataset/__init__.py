"""The data set that can be published: making it, and its card.  `scripts/make-dataset` is the command."""
