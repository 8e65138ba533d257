-- What a source's requests are answered after: 'disk' or 'replica'. Null: as the service is set.
ALTER TABLE source ADD COLUMN durability text;
