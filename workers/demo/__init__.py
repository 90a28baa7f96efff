"""`./afterturn demo`: an instance on a scratch folder, a story or a file played through it, questions, answers."""
