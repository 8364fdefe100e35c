-- Who has changed what, and when (seconds since 1970 in UTC). An archived document has a new id;
-- former is the previous one. was and became have a bounded length. There are no foreign keys, because
-- the audit trail of a document outlives it.
CREATE TABLE audit (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant   INTEGER NOT NULL REFERENCES tenant (id),
  at       INTEGER NOT NULL,
  who      TEXT NOT NULL,
  document INTEGER,
  former   INTEGER,
  folder   INTEGER,
  action   TEXT NOT NULL,
  key      TEXT NOT NULL,
  was      TEXT NOT NULL,
  became   TEXT NOT NULL
) STRICT;

CREATE INDEX audit_tenant ON audit (tenant);
CREATE INDEX audit_document ON audit (document) WHERE document IS NOT NULL;

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit trail is only added to');
END;
CREATE TRIGGER audit_is_not_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = new.id) BEGIN
  SELECT RAISE(ABORT, 'the audit trail is only added to');
END;

-- An archived document cannot be changed, whoever writes to the database, except its metadata.
CREATE TRIGGER archived_is_not_changed
BEFORE UPDATE OF id, tenant, folder, created, archived, size, content_type, digest, source ON document
WHEN old.archived IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'an archived document cannot be changed');
END;
CREATE TRIGGER archived_is_not_removed BEFORE DELETE ON document WHEN old.archived IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'an archived document cannot be removed');
END;
CREATE TRIGGER archived_is_not_replaced BEFORE INSERT ON document
WHEN EXISTS (SELECT 1 FROM document WHERE id = new.id AND archived IS NOT NULL) BEGIN
  SELECT RAISE(ABORT, 'an archived document cannot be replaced');
END;
