/** Loaded together, when the first of them is opened. */
export { NewSource } from "./sources/new-source.tsx";
export { Sources } from "./sources/sources.tsx";
