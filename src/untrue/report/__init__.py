"""Rows and matrices turned into tables, figures and self-contained pages.

    document  tables, figures and pages as frozen data, and how they are drawn and written
    sweep     chapters of the experiments in a directory of runs: `untrue report`
    compare   the chapter of `untrue compare`
    own       the pages of the tools for your own data: fit, audit, control, tune, explore, costs

Nothing here imports torch or trains.
"""
