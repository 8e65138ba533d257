/** A token of RFC 9110, section 5.6.2: the name of a header, or a method. */
export const HTTP_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
