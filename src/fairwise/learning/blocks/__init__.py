"""Tables that are never in memory as a whole: read twice, block by block, on one machine or on several."""
