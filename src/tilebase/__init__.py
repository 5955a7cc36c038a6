"""Exact answers about the game 2048."""
