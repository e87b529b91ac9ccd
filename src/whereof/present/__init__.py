"""Tables, charts, pages and drawings for people: the only room that turns values into text."""
