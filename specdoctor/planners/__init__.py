"""Planners propose moves; code accepts, carries out and judges them."""
