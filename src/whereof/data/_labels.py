"""Files of labels."""

from whereof.data._csv import read_csv
from whereof.data._streams import FilePath
from whereof.data._tsv import read_tsv
from whereof.errors import WhereofError


def read_labels(path: FilePath) -> dict[str, str]:
    """Name -> label, from rows of two columns; commas part them in a file named .csv."""
    labels: dict[str, str] = {}
    read = read_csv if path.name.removesuffix(".gz").endswith(".csv") else read_tsv
    for stretch in read(path):
        if len(stretch.columns) != 2:
            count = "1 column" if len(stretch.columns) == 1 else f"{len(stretch.columns)} columns"
            raise WhereofError(f"{stretch.where(0)}: {count}, expected 2 (name, label)")
        for row, (name, label) in enumerate(zip(*stretch.columns, strict=True)):
            if not (name.strip() and label.strip()):
                word = "name" if label.strip() else "label"
                raise WhereofError(
                    f"{stretch.where(row)}: an empty {word}; fill it or delete the line"
                )
            if labels.setdefault(name, label) != label:
                raise WhereofError(
                    f"{stretch.where(row)}: second label {label!r} for {name!r}, "
                    f"already {labels[name]!r}; keep one"
                )
    if not labels:
        raise WhereofError(f"{path}: an empty file; expected lines of 2 (name, label)")
    return labels
