"""From findings to text. Nothing here touches live state, so any report redraws without a rerun."""
