"""Small changes to the code, each with the test that must turn red: `python -m tests.mutations SUBJECT`.

A subject is a folder here, of TOML files with a table `mutation` for each change: an exact text of one file and what
stands there instead. So it survives whatever moves around it; where its text is gone, it is said which to mend.
"""
