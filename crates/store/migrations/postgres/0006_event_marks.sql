-- Ids of events that are unique in the installation.

-- What the ids of an organization's events begin with. Two organizations may use the same account id; no two have the
-- same mark. Messages that are written keep their ids. The default is drawn for each row, also for one that a node of
-- the version before adds.
ALTER TABLE organizations ADD COLUMN event_mark text COLLATE "C" NOT NULL
    DEFAULT substr(replace(gen_random_uuid()::text, '-', ''), 1, 10);
CREATE UNIQUE INDEX organizations_by_event_mark ON organizations (event_mark);
