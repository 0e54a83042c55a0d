"""Who keeps a server: one file for each kind of keeper, put in order by `table`."""
