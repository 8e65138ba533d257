/** Imported with { type: "file" }: the path of the file, also inside the executable. */
declare module "*.gz" {
  const path: string;
  export default path;
}
