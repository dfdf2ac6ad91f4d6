"""One file per section of the report: findings → sentences, tables and charts."""
