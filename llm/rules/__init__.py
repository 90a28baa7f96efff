"""The offline provider's rules, zh and en: explicit statements only. Silence is better than a wrong fact."""
