"""Chaos: real processes under a known stream and a seeded plan of faults, and an audit of what is left."""
