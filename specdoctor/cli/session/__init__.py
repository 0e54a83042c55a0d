"""The session: a line to type in and a live list, on a terminal, while a run goes on in the main thread."""
