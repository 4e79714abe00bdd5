-- A payment that bounced names its reversal. The service fills it in for older payments when it folds each account again.
ALTER TABLE line_items ADD COLUMN reversed_by TEXT;

-- Sums of payments leave out those that bounced.
DROP INDEX line_items_by_day;
CREATE INDEX line_items_by_day ON line_items (org, kind, effective_at, status, reversed_by, amount)
    WHERE kind = 'PAYMENT' OR kind = 'LATE_FEE';
