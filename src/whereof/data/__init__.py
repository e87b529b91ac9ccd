"""Datasets: names and ids, facts, readers, and the catalogue of named datasets."""
