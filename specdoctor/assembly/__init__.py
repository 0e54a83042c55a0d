"""The one place that names concrete classes: everything above asks here, everything below knows ports only.

Nothing heavy is imported before the function that needs it is called.
"""
