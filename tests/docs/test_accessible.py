"""What scrolls can be reached by keyboard, and headings have a level."""

from docs._ext.accessible import levelled, mended


def test_code_and_tables_that_scroll_can_be_reached():
    body = '<div class="highlight"><pre>x</pre></div><div class="table-wrapper docutils">y</div>'
    assert mended(body).count('tabindex="0"') == 2


def test_captions_of_the_list_of_pages_have_a_level():
    assert 'aria-level="2"' in levelled('<p class="caption" role="heading">Start</p>')
