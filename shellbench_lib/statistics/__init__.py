"""Statistics on score tables: pure functions, frozen parameters in, table out."""
