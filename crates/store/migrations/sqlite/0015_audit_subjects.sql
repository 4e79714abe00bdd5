-- The index by subject has the records of 512 numbers together, so that new records are written to few pages. Ordered by
-- subject alone, it was the largest part of what the audit trail added to the log: nearly a page for each payment.
DROP INDEX audit_by_subject;
CREATE INDEX audit_by_subject_in_blocks ON audit (org, seq / 512, subject_id);
