/** The screens of endpoints, loaded together: they share most of their parts. */
export { Endpoints } from "./endpoints.tsx";
export { NewEndpoint } from "./new-endpoint.tsx";
