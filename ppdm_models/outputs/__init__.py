"""Numbers that are published beside a model, such as a table of characteristics: what their files say, unjudged."""
