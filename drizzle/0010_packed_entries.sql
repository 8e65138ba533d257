-- The keys that follow `id` in the same list, packed (src/store/index/entries.ts): a busy list takes a row for 256 keys in place of a row for
-- each. Rows of before stay as they are, each with one key.
ALTER TABLE entry ADD COLUMN more BLOB;
