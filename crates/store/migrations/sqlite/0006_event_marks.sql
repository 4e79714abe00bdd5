-- Ids of events that are unique in the installation.

-- What the ids of an organization's events begin with. Two organizations may use the same account id; no two have the
-- same mark. Messages that are written keep their ids.
ALTER TABLE organizations ADD COLUMN event_mark TEXT NOT NULL DEFAULT '';
UPDATE organizations SET event_mark = lower(hex(randomblob(5)));
CREATE UNIQUE INDEX organizations_by_event_mark ON organizations (event_mark);
