"""From findings to text; nothing here measures, so any report can be drawn again.

``schema``      the JSON report as types: the contract
``document``    findings as that document
``terminal``    the report a person reads, with ``sidelines`` (headline, tuning, failures, next command) and
                ``remedies`` (what to change); ``causes`` groups recompiles by what changed
``ranks``       what several ranks cost each other, for either
``formats``     the formats by name
"""
