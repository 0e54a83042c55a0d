"""Formulas of speculative decoding and the statistics around them: pure functions, no input or output."""
