"""Rows and matrices turned into tables, figures and self-contained pages.

    document  tables, figures and pages as frozen data, and how they are drawn and written
    runs      rows of the runs in a directory, arms of equal settings, what a chapter is
    sweep     chapters of the paper's experiments
    compare   the chapter of a comparison
    assemble  the chapters of a directory together: `untrue report`, `untrue compare`
    own       the pages of the tools for your own data: fit, audit, control, tune, explore, costs

Nothing here imports torch or trains.
"""
