-- What follows `id` closely in the same list, packed (src/store/entries.ts): a busy list takes a row for 256 keys in place of a row for
-- each. Rows of before are as they were: a key that nothing follows.
ALTER TABLE entry ADD COLUMN more BLOB;
