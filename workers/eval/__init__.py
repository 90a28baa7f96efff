"""`./afterturn eval`: files of small conversations with the right result, played through a scratch instance."""
