-- The migration of SQLite describes this.
ALTER TABLE document ADD COLUMN creator_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE document ADD COLUMN archiver_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE annotation ADD COLUMN creator_id BIGINT NOT NULL DEFAULT 0;

CREATE TABLE person AS
  SELECT tenant, name, user_id AS id FROM folder WHERE inbox AND parent IS NULL AND user_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM account WHERE account.tenant = folder.tenant AND account.name = folder.name)
  UNION ALL SELECT tenant, name, id FROM account;

UPDATE document SET creator_id = person.id FROM person WHERE person.tenant = document.tenant AND person.name = document.creator;
UPDATE document SET archiver_id = creator_id WHERE archived IS NOT NULL AND creator_id != 0;
UPDATE document SET archiver_id = coalesce((SELECT person.id FROM person WHERE person.tenant = audit.tenant AND person.name = audit.who), 0)
  FROM audit WHERE audit.document = document.id AND audit.action = 'archive';
UPDATE annotation SET creator_id = person.id FROM person, document
  WHERE document.id = annotation.document AND person.tenant = document.tenant AND person.name = annotation.creator;

DROP TABLE person;
