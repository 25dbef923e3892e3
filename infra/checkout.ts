/** The checkout, with trailing slash. */
export const root = new URL('../', import.meta.url).pathname
