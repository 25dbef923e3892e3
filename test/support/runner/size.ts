/** Returns a small size in `npm test`, and a large size in `npm run test:long`. */
export const sized = <T>(usual: T, long: T): T => (process.env['LONG'] ? long : usual)
