/** The path of a request, as clients join it: with a slash at its end, or without. */
export const requestPath = ({ url }: Pick<Request, 'url'>): string => new URL(url).pathname.replace(/(?<=[^/])\/$/, '')
