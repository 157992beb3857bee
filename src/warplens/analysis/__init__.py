"""What counts and times mean for the one who tunes: advice, predictions, comparisons, charts.

Takes results of metrics and timing; may import everything below them, never the API.
"""
