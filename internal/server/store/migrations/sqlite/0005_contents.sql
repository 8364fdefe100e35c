-- The distinct contents of all documents, and the state of their text: waiting, indexed, or failed, with
-- a reason. A waiting content is not claimed before due (seconds since 1970): it is claimed, or was put
-- off.
CREATE TABLE content (
  id           INTEGER PRIMARY KEY,
  digest       TEXT NOT NULL UNIQUE,
  content_type TEXT NOT NULL,
  size         INTEGER NOT NULL,
  state        TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'indexed', 'failed')),
  attempts     INTEGER NOT NULL DEFAULT 0,
  due          INTEGER NOT NULL DEFAULT 0,
  reason       TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX content_due ON content (due, id) WHERE state = 'waiting';

INSERT INTO content (digest, content_type, size) SELECT digest, min(content_type), min(size) FROM document GROUP BY digest;

-- The words of a text, in order, and the stems that are not among them. They consist of letters and
-- digits: see words.go.
CREATE VIRTUAL TABLE content_index USING fts5 (words, stems, content = '', contentless_delete = 1, tokenize = 'ascii');

CREATE TRIGGER content_is_added AFTER INSERT ON document
WHEN NOT EXISTS (SELECT 1 FROM content WHERE digest = new.digest) BEGIN
  INSERT INTO content (digest, content_type, size) VALUES (new.digest, new.content_type, new.size);
END;
CREATE TRIGGER content_is_replaced AFTER UPDATE OF digest ON document
WHEN NOT EXISTS (SELECT 1 FROM content WHERE digest = new.digest) BEGIN
  INSERT INTO content (digest, content_type, size) VALUES (new.digest, new.content_type, new.size);
END;
CREATE TRIGGER content_is_left AFTER UPDATE OF digest ON document
WHEN NOT EXISTS (SELECT 1 FROM document WHERE digest = old.digest) BEGIN
  DELETE FROM content WHERE digest = old.digest;
END;
CREATE TRIGGER content_is_unused AFTER DELETE ON document
WHEN NOT EXISTS (SELECT 1 FROM document WHERE digest = old.digest) BEGIN
  DELETE FROM content WHERE digest = old.digest;
END;
CREATE TRIGGER content_is_removed AFTER DELETE ON content WHEN old.state = 'indexed' BEGIN
  DELETE FROM content_index WHERE rowid = old.id;
END;
