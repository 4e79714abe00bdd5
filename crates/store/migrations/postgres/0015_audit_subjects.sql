-- Changes nothing here, and keeps the version the same as on SQLite, whose index by subject wrote a page to the log for
-- nearly every payment. PostgreSQL's log has rows, not pages.
SELECT 1;
