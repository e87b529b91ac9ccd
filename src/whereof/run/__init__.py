"""A run on disk: written atomically, checked on opening."""
