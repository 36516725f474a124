"""Jobs on tables whose values are hidden by noise: how they are made and judged, and what is grown from them."""
