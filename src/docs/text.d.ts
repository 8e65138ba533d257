/** Imported with { type: "text" }: the text of the file, also inside the executable. */
declare module "*.md" {
  const text: string;
  export default text;
}
declare module "*.css" {
  const text: string;
  export default text;
}
declare module "*/search.js" {
  const text: string;
  export default text;
}
/** Imported with { type: "file" }: its path, also inside the executable. */
declare module "*.png" {
  const path: string;
  export default path;
}
declare module "*.svg" {
  const path: string;
  export default path;
}
