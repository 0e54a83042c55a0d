"""Programs that a GPU host has and the practice host does not: each answers from the world, in the real one's format.

Started often and expected to be quick, they import the standard library and the light modules of the lab only.
"""
