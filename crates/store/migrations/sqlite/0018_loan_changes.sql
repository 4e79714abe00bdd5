-- Why Daybook itself made an offset, such as CAPITALIZED; null for all other line items.
ALTER TABLE line_items ADD COLUMN reason TEXT;

-- The rules of loan changes apply to every account.
INSERT INTO accounts_to_refold (org, account) SELECT org, account FROM accounts WHERE true ON CONFLICT DO NOTHING;
