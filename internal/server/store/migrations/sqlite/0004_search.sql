-- Comparisons of texts ignore accents, and the texts of notes and stamps are part of said, at its end.
UPDATE document SET
  said = char(1) || fold(name) || char(31)
    || coalesce((SELECT group_concat(char(2) || fold(value) || char(31), '') FROM json_each(keywords)), '')
    || coalesce((SELECT group_concat(char(3) || fold(value) || char(31), '') FROM json_each(types)), '')
    || coalesce((SELECT group_concat(char(4) || fold(value ->> 'value') || char(31), '') FROM json_each(metadata)), '')
    || coalesce(char(5) || fold(external_id) || char(31), '')
    || coalesce((SELECT group_concat(char(6) || fold(title) || char(31) || char(6) || fold(text) || char(31), '')
      FROM annotation WHERE document = document.id), ''),
  pairs = coalesce((SELECT group_concat(char(31) || (value ->> 'key') || char(4) || fold(value ->> 'value') || char(31), '')
    FROM json_each(metadata)), '');
UPDATE folder SET folded = fold(name);
UPDATE annotation SET folded_title = fold(title), folded_text = fold(text);

-- The trigram index of said. Documents are indexed some time after they were added, so that uploads do
-- not wait; those after indexed_to.id are searched one by one.
CREATE VIRTUAL TABLE said_index USING fts5 (said, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1');

CREATE TABLE indexed_to (id INTEGER NOT NULL) STRICT;
INSERT INTO indexed_to VALUES (0);

CREATE TRIGGER said_is_changed AFTER UPDATE OF said ON document
WHEN new.said != old.said AND old.id <= (SELECT id FROM indexed_to) BEGIN
  UPDATE said_index SET said = new.said WHERE rowid = old.id;
END;
CREATE TRIGGER said_is_removed AFTER DELETE ON document WHEN old.id <= (SELECT id FROM indexed_to) BEGIN
  DELETE FROM said_index WHERE rowid = old.id;
END;
