"""What commands print: for each verb, its result as sentences, tables and notes."""
