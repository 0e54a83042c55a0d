"""specdoctor: find out why speculative decoding is slower than no speculation, or wrong."""

__version__ = "0.1.0"
