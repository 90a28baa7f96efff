"""Shapes the service keeps or decides: tables, model drafts, decisions, errors. No I/O, no rules."""
