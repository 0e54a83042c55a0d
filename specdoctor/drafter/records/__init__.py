"""What a drafter was trained on, as its training left it written: one file for each form of record."""
