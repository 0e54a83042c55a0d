"""Types, events, ledger, policy and ports: pure, known to every other layer."""
