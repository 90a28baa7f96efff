"""Use cases, one file per verb: load, decide (memory/), save in one transaction, name the next."""
