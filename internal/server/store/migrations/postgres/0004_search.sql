-- The migration of SQLite describes this.
CREATE FUNCTION unaccented(text TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT normalize(regexp_replace(normalize(text, NFD), '[\u0300-\u036f]', '', 'g'), NFC)
$$;

UPDATE document SET pairs = unaccented(pairs), said = unaccented(said)
  || coalesce((SELECT string_agg(chr(6) || unaccented(folded_title) || chr(31) || chr(6) || unaccented(folded_text) || chr(31), '' ORDER BY id)
    FROM annotation WHERE document = document.id), '');
UPDATE folder SET folded = unaccented(folded);
UPDATE annotation SET folded_title = unaccented(folded_title), folded_text = unaccented(folded_text);

DROP FUNCTION unaccented;

-- Without the extension, or the right to create it, searches read each document of a tenant.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX document_said ON document USING gin (said gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_file OR undefined_object THEN
  RAISE NOTICE 'there is no pg_trgm: %', SQLERRM;
END $$;
