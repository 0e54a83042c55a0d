"""What is known of the causes themselves: one home for id, title, signs, deciding test, fix and sources."""
