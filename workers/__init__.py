"""Processes: Celery apps, queues, the beat table, the supervisor, the command line, logs."""
