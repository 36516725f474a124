"""Records with noise of a stated level, and what can be got back from them: distributions, trees, people.

Agrawal & Srikant, Privacy-Preserving Data Mining, SIGMOD 2000; the measures of Agrawal & Aggarwal, PODS 2001.
"""
