"""What the programs for the target host are made of; `specdoctor.operations.programs` joins them into one text each."""
