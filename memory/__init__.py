"""Pure rules: values in, decisions out. Now and ids are arguments; nothing here reads a clock, a store or a model."""
