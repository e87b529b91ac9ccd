"""Pages in a notebook: a frame that holds a whole page, so that no server is needed."""

import sys

from markupsafe import escape

from whereof.errors import WhereofError


class Frame:
    """A page as the output of a cell."""

    def __init__(self, page: str, height: int) -> None:
        self._page, self._height = page, height

    def _repr_html_(self) -> str:
        """A frame apart from the notebook: neither changes the other's style."""
        page, look = escape(self._page), 'width="100%" frameborder="0" title="Whereof"'
        size = f'height="{int(self._height)}"'
        return f'<iframe srcdoc="{page}" {look} {size} sandbox="allow-scripts"></iframe>'


def show(page: str, height: int) -> None:
    """Display a page in the notebook that this process belongs to."""
    display = getattr(sys.modules.get("IPython.display"), "display", None)
    if display is None:
        raise WhereofError(
            "show works only in a notebook; elsewhere, write a page with "
            "`whereof explain --html` or `whereof report`"
        )
    display(Frame(page, height))
