-- Documents that an administrator has removed: their rows as JSON, for restoring them. From due on (seconds
-- since 1970) a document is erased: erasing says that this has begun, and that the row only remembers what is
-- left to do. digest names the content, which is kept until then. law says that retention does not hold it.
CREATE TABLE trash (
  id          INTEGER PRIMARY KEY,
  tenant      INTEGER NOT NULL REFERENCES tenant (id),
  digest      TEXT NOT NULL,
  size        INTEGER NOT NULL,
  removed     INTEGER NOT NULL,
  due         INTEGER NOT NULL,
  law         INTEGER NOT NULL CHECK (law IN (0, 1)),
  erasing     INTEGER NOT NULL CHECK (erasing IN (0, 1)),
  who         TEXT NOT NULL,
  reason      TEXT NOT NULL CHECK (reason != ''),
  place       TEXT NOT NULL,
  document    TEXT NOT NULL,
  annotations TEXT NOT NULL
) STRICT;

CREATE INDEX trash_digest ON trash (digest);
CREATE INDEX trash_due ON trash (due);

-- How long documents are kept after they were archived: those of a type (empty: all) in a folder or below it
-- (null: anywhere).
CREATE TABLE retention (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant INTEGER NOT NULL REFERENCES tenant (id),
  name   TEXT NOT NULL,
  months INTEGER NOT NULL,
  days   INTEGER NOT NULL,
  folder INTEGER,
  type   TEXT NOT NULL,
  FOREIGN KEY (folder, tenant) REFERENCES folder (id, tenant)
) STRICT;

-- An archived document is removed only after it was put into the trash, with a reason.
DROP TRIGGER archived_is_not_removed;
CREATE TRIGGER archived_is_not_removed BEFORE DELETE ON document
WHEN old.archived IS NOT NULL AND NOT EXISTS (SELECT 1 FROM trash WHERE id = old.id) BEGIN
  SELECT RAISE(ABORT, 'an archived document cannot be removed');
END;

-- One that is restored has its former id, which the index of metadata has passed.
CREATE TRIGGER said_is_restored AFTER INSERT ON document WHEN new.id <= (SELECT id FROM indexed_to) BEGIN
  INSERT INTO said_index (rowid, said) VALUES (new.id, new.said);
END;

-- The audit trail of a document that is erased loses its texts: names and metadata are personal data. Who
-- changed something, what, when, and the reason of the removal stay.
DROP TRIGGER audit_is_not_changed;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
WHEN NOT (new.id = old.id AND new.tenant = old.tenant AND new.at = old.at AND new.who = old.who AND new.document IS old.document
  AND new.former IS old.former AND new.folder IS old.folder AND new.action = old.action
  AND new.key = '' AND new.was = '' AND (new.became = '' OR new.became = old.became)
  AND (EXISTS (SELECT 1 FROM trash WHERE id = old.document AND erasing)
    OR EXISTS (SELECT 1 FROM trash JOIN audit AS later ON later.document = trash.id WHERE erasing AND later.former = old.document))) BEGIN
  SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
